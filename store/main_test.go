package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"reverie/store"
	"reverie/store/storetest"
)

// childEnv makes the test binary another process of the same home: a JSON array of a
// role, the path and the address of the home, and the role's arguments.
const childEnv = "REVERIE_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if v := os.Getenv(childEnv); v != "" {
		var args []string
		if err := json.Unmarshal([]byte(v), &args); err != nil {
			panic(err)
		}
		if err := runChild(args[0], storetest.Home{Path: args[1], DSN: args[2]}, args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	storetest.Main(m)
}

// child returns the command that runs this test binary in a role of [runChild].
func child(tb testing.TB, role string, h storetest.Home, args ...string) *exec.Cmd {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	b, err := json.Marshal(append([]string{role, h.Path, h.DSN}, args...))
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+string(b))
	return cmd
}

// runToEnd runs a child and returns what it printed.
func runToEnd(tb testing.TB, role string, h storetest.Home, args ...string) string {
	tb.Helper()
	cmd := child(tb, role, h, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("child %s: %v", role, err)
	}
	return string(out)
}

func runChild(role string, h storetest.Home, args []string) error {
	ctx := context.Background()
	db, err := store.Open(ctx, h.Path, store.Options{DSN: h.DSN})
	if err != nil {
		return err
	}
	switch role {
	case "open": // and close
	case "write": // one change of a partition; prints its version
		err = db.Write(ctx, args[0], func(*store.Tx) error { return nil })
		if err == nil {
			var v int64
			v, err = db.Version(ctx, args[0])
			fmt.Print(v)
		}
	case "hold": // holds the write lock of a partition until standard input ends
		err = db.Write(ctx, args[0], func(*store.Tx) error {
			fmt.Println("holding")
			var b [1]byte
			os.Stdin.Read(b[:])
			return nil
		})
	case "acks": // writes until it is killed; prints each version once it is stored
		for i := 1; err == nil; i++ {
			err = db.Write(ctx, args[0], func(tx *store.Tx) error { return ackRow(tx, i) })
			if err == nil {
				fmt.Println(ackOf(args[0], i))
			}
		}
	default:
		err = fmt.Errorf("no such role: %s", role)
	}
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	return err
}
