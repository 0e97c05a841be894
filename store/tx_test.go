package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"reverie/store"
	"reverie/store/storetest"
)

func TestWriteRollsBack(t *testing.T) { storetest.Each(t, testWriteRollsBack) }

func testWriteRollsBack(t *testing.T, e storetest.Engine) {
	db := e.Open(t)
	works(t, db)
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		end  func() error
		want error
	}{
		"error":     {func() error { return boom }, boom},
		"unchanged": {func() error { return fmt.Errorf("nothing new: %w", store.ErrUnchanged) }, nil},
		"panic":     {func() error { panic(boom) }, boom},
		"goexit":    {func() error { runtime.Goexit(); return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() {
					if p := recover(); p != nil {
						err = p.(error)
					}
				}()
				err = db.Write(t.Context(), "p", func(tx *store.Tx) error {
					if err := ackRow(tx, 1); err != nil {
						return err
					}
					return tc.end()
				})
			}()
			<-done
			if !errors.Is(err, tc.want) || (tc.want == nil) != (err == nil) {
				t.Errorf("write ended with %v, want %v", err, tc.want)
			}
			if v, n := version(t, db, "p"), count(t, db, "SELECT COUNT(*) FROM memos"); v != 0 || n != 0 {
				t.Errorf("version %d and %d rows are left of it", v, n)
			}
			works(t, db)
		})
	}
	if err := db.Write(t.Context(), "", func(*store.Tx) error { return nil }); err == nil {
		t.Error("a write without a partition was accepted")
	}
}

// A connection whose transaction was ended behind database/sql's back must not spoil
// the writes that follow.
func TestWriteAfterBrokenTransaction(t *testing.T) {
	storetest.Each(t, testWriteAfterBrokenTransaction)
}

func testWriteAfterBrokenTransaction(t *testing.T, e storetest.Engine) {
	for _, stmt := range []string{"ROLLBACK", "COMMIT", "COMMIT; BEGIN"} {
		db := e.Open(t)
		err := db.Write(t.Context(), "p", func(tx *store.Tx) error { return tx.Exec(stmt).Error })
		if !strings.Contains(stmt, "BEGIN") && err == nil {
			t.Errorf("%s inside: the write says that it was stored", stmt)
		}
		works(t, db)
	}
}

func TestWriteContext(t *testing.T) { storetest.Each(t, testWriteContext) }

func testWriteContext(t *testing.T, e storetest.Engine) {
	t.Run("ended before", func(t *testing.T) {
		db := once(t, e.New(t))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := db.Write(ctx, "p", func(*store.Tx) error { t.Error("ran"); return nil })
		if !errors.Is(err, context.Canceled) || version(t, db, "p") != 0 {
			t.Errorf("%v, version %d", err, version(t, db, "p"))
		}
	})
	t.Run("ends while it waits for its turn", func(t *testing.T) {
		db := once(t, e.New(t))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		err := db.Write(t.Context(), "p", func(*store.Tx) error {
			wg.Go(func() {
				err := db.Write(ctx, "p", func(*store.Tx) error { t.Error("ran"); return nil })
				if !errors.Is(err, context.Canceled) {
					t.Errorf("the waiting write ended with %v", err)
				}
			})
			time.Sleep(20 * time.Millisecond)
			cancel()
			wg.Wait() // it must end although the turn never comes
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if v := version(t, db, "p"); v != 1 {
			t.Errorf("version %d: the cancelled write was stored", v)
		}
	})
	t.Run("ends inside", func(t *testing.T) {
		db := once(t, e.New(t))
		ctx, cancel := context.WithCancel(t.Context())
		err := db.Write(ctx, "p", func(tx *store.Tx) error {
			cancel()
			for i := range 20 {
				if err := ackRow(tx, i); err != nil {
					return err
				}
			}
			return tx.Statement.Context.Err()
		})
		if err != nil || version(t, db, "p") != 1 || count(t, db, "SELECT COUNT(*) FROM memos") != 20 {
			t.Errorf("a begun write must run to its end: %v, version %d", err, version(t, db, "p"))
		}
	})
	t.Run("read", func(t *testing.T) {
		db := once(t, e.New(t))
		ctx, cancel := context.WithCancel(t.Context())
		one := func(g *gorm.DB) error { return g.Raw("SELECT 1").Row().Scan(new(int)) }
		err := db.Read(ctx, func(g *gorm.DB) error {
			if err := one(g); err != nil {
				return fmt.Errorf("before: %w", err)
			}
			cancel()
			return one(g)
		})
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "before") {
			t.Errorf("a read that was cancelled half-way ended with %v", err)
		}
		if err := db.Read(ctx, one); !errors.Is(err, context.Canceled) {
			t.Errorf("a read that was cancelled before ended with %v", err)
		}
		if _, err := db.Version(ctx, "p"); !errors.Is(err, context.Canceled) {
			t.Errorf("a version that was cancelled before ended with %v", err)
		}
		// database/sql rolls back behind the function's back, and then has nothing to commit.
		late, cancel := context.WithCancel(t.Context())
		err = db.Read(late, func(g *gorm.DB) error {
			cancel()
			time.Sleep(50 * time.Millisecond)
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a read whose context ended before its end ended with %v", err)
		}
		write(t, db, "p", 1)
		if version(t, db, "p") != 1 {
			t.Error("no version after a cancelled read")
		}
	})
}

func TestReadIsOneSnapshot(t *testing.T) { storetest.Each(t, testReadIsOneSnapshot) }

func testReadIsOneSnapshot(t *testing.T, e storetest.Engine) {
	db := e.Open(t)
	write(t, db, "p", 1)
	versionIn := func(g *gorm.DB) (v int64) {
		if err := g.Raw("SELECT version FROM partitions WHERE key = 'p'").Row().Scan(&v); err != nil {
			t.Error(err)
		}
		return v
	}
	err := db.Read(t.Context(), func(g *gorm.DB) error {
		before := versionIn(g)
		write(t, db, "p", 3) // and the writer does not wait for the reader
		if after := versionIn(g); before != 1 || after != 1 {
			t.Errorf("one read saw versions %d and %d", before, after)
		}
		return g.Exec("DELETE FROM partitions").Error
	})
	if err == nil {
		t.Error("a read could delete")
	}
	if v := version(t, db, "p"); v != 4 {
		t.Errorf("version %d after the read, want 4", v)
	}
}

// Readers of all kinds go on while another process holds the write lock.
func TestReadersNeverWait(t *testing.T) { storetest.Each(t, testReadersNeverWait) }

func testReadersNeverWait(t *testing.T, e storetest.Engine) {
	h := e.New(t)
	o := store.Options{DSN: h.DSN, BusyTimeout: 100 * time.Millisecond}
	db := open(t, h.Path, o)
	write(t, db, "p", 1)
	holder := child(t, "hold", h, "p")
	holder.Stderr = os.Stderr
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if v := version(t, db, "p"); v != 1 {
		t.Errorf("version %d", v)
	}
	if n := count(t, db, "SELECT COUNT(*) FROM partitions"); n != 1 {
		t.Errorf("%d partitions are seen, want 1: the other's is not committed", n)
	}
	second := open(t, h.Path, o) // opening does not wait either
	second.Close()
	ran := false
	err = db.Write(t.Context(), "p", func(*store.Tx) error { ran = true; return nil })
	wants(t, err, store.ErrBusy, "another process is writing", "nothing was stored", "call again")
	if ran {
		t.Error("the refused write ran")
	}
	in.Close()
	if err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	works(t, db)
	if v := version(t, db, "p"); v != 2 {
		t.Errorf("after the holder's change the version is %d, want 2", v)
	}
}

// writeUntilError stores rows numbered from first until one is refused, and returns how
// many were stored. Rows vary from a fraction of a page to many pages.
func writeUntilError(t *testing.T, db *store.DB, first int) (int, error) {
	t.Helper()
	for i := range 5000 {
		err := db.Write(t.Context(), "p", func(tx *store.Tx) error {
			return tx.Exec("INSERT INTO memos (part, content, version, updated_at) VALUES (?, ?, 1, 1)",
				ackOf("full", first+i), strings.Repeat("x", 1+(first+i)*997%30000)).Error
		})
		if err != nil {
			return i, err
		}
	}
	t.Fatal("nothing was ever refused")
	return 0, nil
}

func TestMaxPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reverie.db")
	db := open(t, path, store.Options{MaxPages: 100})
	stored, err := writeUntilError(t, db, 0)
	wants(t, err, store.ErrFull, "nothing was stored", "free space")
	if n := count(t, db, "SELECT COUNT(*) FROM memos"); n != stored || version(t, db, "p") != int64(stored) {
		t.Errorf("%d rows, version %d; %d were acknowledged", n, version(t, db, "p"), stored)
	}
	db.Close()
	works(t, open(t, path, store.Options{})) // with room
}
