package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"reverie/store"
)

// childEnv makes the test binary another process of the same home: a JSON array of a
// role and its arguments.
const childEnv = "REVERIE_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if v := os.Getenv(childEnv); v != "" {
		var args []string
		if err := json.Unmarshal([]byte(v), &args); err != nil {
			panic(err)
		}
		if err := runChild(args[0], args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child returns the command that runs this test binary in a role of [runChild].
func child(tb testing.TB, role string, args ...string) *exec.Cmd {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	b, err := json.Marshal(append([]string{role}, args...))
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+string(b))
	return cmd
}

// runToEnd runs a child and returns what it printed.
func runToEnd(tb testing.TB, role string, args ...string) string {
	tb.Helper()
	cmd := child(tb, role, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("child %s: %v", role, err)
	}
	return string(out)
}

func runChild(role string, args []string) error {
	ctx := context.Background()
	db, err := store.Open(ctx, args[0], store.Options{})
	if err != nil {
		return err
	}
	switch role {
	case "open": // and close
	case "write": // one change of a partition; prints its version
		err = db.Write(ctx, args[1], func(*store.Tx) error { return nil })
		if err == nil {
			var v int64
			v, err = db.Version(ctx, args[1])
			fmt.Print(v)
		}
	case "hold": // holds the write lock until standard input ends
		err = db.Write(ctx, "held", func(*store.Tx) error {
			fmt.Println("holding")
			var b [1]byte
			os.Stdin.Read(b[:])
			return nil
		})
	case "acks": // writes until it is killed; prints each version once it is stored
		for i := 1; err == nil; i++ {
			err = db.Write(ctx, args[1], func(tx *store.Tx) error { return ackRow(tx, i) })
			if err == nil {
				fmt.Println(ackOf(args[1], i))
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
