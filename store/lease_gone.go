package store

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// goneHere reports whether the holder of a lease was a process of this host that is no
// more: its lease need not be waited for. Where two hosts share a name, as containers
// may, it can be wrong; whoever loses a lease that way finds out at its next renewal, and
// before anything that counts ([Lease.Mine]).
func goneHere(holder string) bool {
	host, err := os.Hostname()
	if err != nil || runtime.GOOS == "windows" {
		return false
	}
	var pid int
	if n, err := fmt.Sscanf(holder, "process %d on ", &pid); n != 1 || err != nil || pid <= 0 || pid == os.Getpid() {
		return false
	}
	if !strings.HasPrefix(holder, fmt.Sprintf("process %d on %s, ", pid, host)) {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	// Nothing is sent: that there is none to send to is all that is asked.
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}
