//go:build unix

package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	user = "reverie"
	// Password is that of the server over TCP; it has characters that an address escapes.
	Password = "pa/ss@w0rd%"
)

// guard waits until the test binary is gone, which closes the other end of its standard
// input, then kills the server of the folder "$1" and removes it.
const guard = `trap '' INT TERM HUP
read _
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
	kill -QUIT "$pid" 2>/dev/null
	i=0
	while kill -0 "$pid" 2>/dev/null && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
fi
rm -rf "$1"`

// cluster is a server of the test binary's own.
type cluster struct {
	dir  string // the data, the socket and the log are in it
	bin  string
	host string // address over TCP
	as   *syscall.Credential
	sure bool // it waits for the disk, as servers do

	guard *exec.Cmd
	life  *os.File // its end is the guard's signal
	main  *exec.Cmd
}

func newCluster(sure bool) (*cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: bin, sure: sure}
	if c.as, err = credential(); err != nil {
		return nil, err
	}
	if c.dir, err = os.MkdirTemp("", "reverie-pg"); err != nil {
		return nil, err
	}
	if err := c.make(); err != nil {
		c.remove()
		return nil, fmt.Errorf("start PostgreSQL of %s: %w", bin, err)
	}
	return c, nil
}

// programs finds the folder of the server's programs.
func programs() (string, error) {
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			return filepath.Dir(p), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { // the newest last
		return version(a) - version(b)
	})
	if len(found) == 0 {
		return "", fmt.Errorf("initdb is neither in PATH nor in /usr/lib/postgresql: install the package postgresql, or set %s to the address of a server", DSNEnv)
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

// credential is that of another user for root, under whom the server refuses to run.
func credential() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		if uerr == nil && gerr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

func (c *cluster) make() error {
	if c.as != nil {
		if err := os.Chown(c.dir, int(c.as.Uid), int(c.as.Gid)); err != nil {
			return err
		}
	}
	if err := c.watch(); err != nil {
		return err
	}
	secret := filepath.Join(c.dir, "password")
	if err := os.WriteFile(secret, []byte(Password), 0o644); err != nil {
		return err
	}
	init := c.command("initdb", "--pgdata="+c.data(), "--username="+user, "--pwfile="+secret,
		"--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.host = l.Addr().String()
	l.Close()
	return c.run()
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// command is a program of the server's, under its user, with no terminal's signals.
func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	c.apart(cmd)
	return cmd
}

func (c *cluster) apart(cmd *exec.Cmd) {
	cmd.Dir = c.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") }), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.as}
}

// watch starts the guard.
func (c *cluster) watch() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	c.guard = exec.Command("/bin/sh", "-c", guard, "guard", c.dir)
	c.apart(c.guard)
	c.guard.Dir = "/"
	c.guard.Stdin = r
	c.life = w
	return c.guard.Start()
}

// run starts the server and waits until it answers. What it stores need not survive the
// machine, so it does not wait for the disk unless that is asked for.
func (c *cluster) run() error {
	_, port, err := net.SplitHostPort(c.host)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	c.main = c.command("postgres", "-D", c.data(), "-k", c.dir, "-p", port, "-h", "127.0.0.1",
		"-c", "fsync="+map[bool]string{true: "on", false: "off"}[c.sure], "-c", "max_connections=100", "-c", "shared_buffers=32MB", "-c", "max_wal_size=256MB", "-c", "log_min_messages=warning")
	c.main.Stdout, c.main.Stderr = log, log
	if err := c.main.Start(); err != nil {
		return err
	}
	err = with(c.address().String(), func(ctx context.Context, db *sql.DB) error {
		for {
			err := db.PingContext(ctx)
			if err == nil || ctx.Err() != nil {
				return err
			}
			if c.main.Process.Signal(syscall.Signal(0)) != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	if err != nil {
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w; its log: %s", err, said)
	}
	return nil
}

// address is that of the database "postgres" through the socket.
func (c *cluster) address() *url.URL {
	_, port, _ := net.SplitHostPort(c.host)
	return &url.URL{Scheme: "postgres", User: url.User(user), Path: "/postgres", RawQuery: url.Values{"host": {c.dir}, "port": {port}, "sslmode": {"disable"}}.Encode()}
}

// kill ends the server with all its processes at once, without a last word to the disk.
func (c *cluster) kill() error { return c.end(syscall.SIGQUIT) }

// shutdown ends the server in order: connections are ended and everything is written.
func (c *cluster) shutdown() error { return c.end(syscall.SIGINT) }

func (c *cluster) end(sig syscall.Signal) error {
	if c.main == nil {
		return nil
	}
	if err := c.main.Process.Signal(sig); err != nil {
		return err
	}
	_ = c.main.Wait() // how it ended is what was asked for
	c.main = nil
	return nil
}

// remove ends the server and the guard, which removes the folder.
func (c *cluster) remove() {
	_ = c.kill()
	if c.life != nil {
		c.life.Close()
		_ = c.guard.Wait()
	}
	os.RemoveAll(c.dir)
}
