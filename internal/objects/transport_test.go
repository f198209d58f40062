package objects

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestSilentConnections: a connection ends after a time without traffic in either direction, and
// not while there is traffic, however long that takes.
func TestSilentConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		failing := errors.New("no connection")
		var fails error
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return here, fails
		}}
		Tune(transport)
		fails = failing
		if _, err := transport.DialContext(t.Context(), "tcp", "x"); !errors.Is(err, failing) {
			t.Errorf("of a server that is not there: %v", err)
		}
		fails = nil
		c, err := transport.DialContext(t.Context(), "tcp", "x")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		// A request waits for its answer while its body is being sent: ten bytes, each after two
		// thirds of the time.
		answer := make(chan error, 1)
		go func() { _, err := c.Read(make([]byte, 1)); answer <- err }()
		for range 10 {
			time.Sleep(Silence * 2 / 3)
			go func() { _, _ = io.ReadFull(there, make([]byte, 1)) }()
			if _, err := c.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		go func() { _, _ = there.Write([]byte("y")) }()
		if err := <-answer; err != nil {
			t.Errorf("an answer after a long request: %v", err)
		}
		began := time.Now()
		if _, err := c.Write([]byte("z")); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != Silence {
			t.Errorf("a server that reads nothing: %v after %v", err, time.Since(began))
		}
		began = time.Now()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != Silence {
			t.Errorf("a server that sends nothing: %v after %v", err, time.Since(began))
		}
		c.Close()
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a closed connection is read")
		}
		if _, err := c.Write([]byte("z")); err == nil {
			t.Error("a closed connection is written")
		}
	})
}
