package stream_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// scissors cut a broker's connections when a request of a kind arrives, before the broker sees it,
// or when its answer is about to be sent.
type scissors struct {
	mu   sync.Mutex
	cuts []*cut
}

type cut struct {
	key   kmsg.Key
	after bool // the request is carried out, and its answer is lost
	skip  int  // number of first requests to let through
	left  int
	used  int

	// If it is not 0, the answer is sent, with this code in the place of the error code of a
	// flexible EndTxn.
	code int16
}

// at arms the scissors.
func (s *scissors) at(c cut) *cut {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts = append(s.cuts, &c)
	return &c
}

// blunt stops the scissors, and checks that they were used.
func (s *scissors) blunt(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cuts {
		if c.used == 0 {
			t.Errorf("no connection was cut by a request of kind %s", c.key.Name())
		}
	}
	s.cuts = nil
}

func (s *scissors) take(key kmsg.Key) *cut {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cuts {
		if c.key != key || c.left == 0 {
			continue
		}
		if c.skip > 0 {
			c.skip--
			continue
		}
		c.left--
		c.used++
		return c
	}
	return nil
}

func (s *scissors) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	return listener{l, s}, err
}

type listener struct {
	net.Listener
	scissors *scissors
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: c, scissors: l.scissors, in: bufio.NewReader(c)}, nil
}

// cutConn is the broker's side of a connection.
type cutConn struct {
	net.Conn
	scissors *scissors
	in       *bufio.Reader
	rest     int // bytes of the request being read

	mu          sync.Mutex
	read, wrote int // requests and answers
	lost        int // the answer that is lost; 0: none
	code        int16
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.rest == 0 {
		head, err := c.in.Peek(6)
		if err != nil {
			return 0, err
		}
		c.mu.Lock()
		c.read++
		if cut := c.scissors.take(kmsg.Key(binary.BigEndian.Uint16(head[4:]))); cut != nil {
			if !cut.after {
				c.mu.Unlock()
				c.Conn.Close()
				return 0, io.EOF
			}
			c.lost, c.code = c.read, cut.code
		}
		c.mu.Unlock()
		c.rest = 4 + int(binary.BigEndian.Uint32(head))
	}
	n, err := c.in.Read(p[:min(len(p), c.rest)])
	c.rest -= n
	return n, err
}

func (c *cutConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.wrote++
	lost, code := c.wrote == c.lost, c.code
	c.mu.Unlock()
	switch {
	case lost && code != 0:
		const at = 4 + 4 + 1 + 4 // size, correlation id, tags, throttle time
		binary.BigEndian.PutUint16(p[at:], uint16(code))
	case lost:
		c.Conn.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

// streamLog collects the log of a stream.
type streamLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *stand) listen() *streamLog { return new(streamLog) }

func (h *streamLog) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *streamLog) options() pipeline.Options {
	return pipeline.Options{Version: "test", Log: zerolog.New(h)}
}

func (h *streamLog) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Contains(h.text.String(), text)
}

func (h *streamLog) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

func (s *stand) decode(value []byte, into any) {
	s.t.Helper()
	if err := json.Unmarshal(value, into); err != nil {
		s.t.Fatal(err)
	}
}
