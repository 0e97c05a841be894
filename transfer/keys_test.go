package transfer_test

import "os"

const (
	childEnv = "REVERIE_TRANSFER_TEST_CHILD"
	childDSN = "REVERIE_TRANSFER_TEST_DSN"
)

func killedChild(home, dsn string) { os.Exit(3) }
