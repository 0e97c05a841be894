//go:build !unix

package storetest

import (
	"errors"
	"net/url"
)

const (
	user = "reverie"
	// Password is that of a server of the tests' own, over TCP.
	Password = "pa/ss@w0rd%"
)

// cluster is a server of the test binary's own, which only Unix has.
type cluster struct{ host string }

func newCluster(bool) (*cluster, error) {
	return nil, errors.New("set " + DSNEnv + " to the address of a server: one of the tests' own is started on Unix only")
}

func (c *cluster) address() *url.URL { return nil }
func (c *cluster) run() error        { return nil }
func (c *cluster) kill() error       { return nil }
func (c *cluster) shutdown() error   { return nil }
func (c *cluster) remove()           {}
