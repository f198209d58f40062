package objects

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Silence is how long a server may neither say nor take anything before its connection is
// cut and it is asked again. Tests alone change it; what is open keeps what it was opened with.
var Silence = 90 * time.Second

// Tune sets what every protocol wants of its connections: many at once to one server, large
// buffers, and none that a silent server holds for ever, in whichever direction.
func Tune(t *http.Transport) {
	t.ResponseHeaderTimeout = time.Minute
	t.MaxIdleConnsPerHost = 32
	t.ReadBufferSize, t.WriteBufferSize = 64<<10, 64<<10
	dial, most := t.DialContext, Silence
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &timedConn{c, most}, nil
	}
}

// timedConn is a connection that ends where nothing goes over it for long. Whoever waits for
// an answer waits as long as what is asked still goes out, so that each direction sets the
// time of both.
type timedConn struct {
	net.Conn
	most time.Duration
}

func (c *timedConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.most)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *timedConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.most)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
