package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// echo returns every line to the sender.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

type talk struct {
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, p *Proxy) *talk {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &talk{c, bufio.NewReader(c)}
}

// exchange sends a line and waits for the answer.
func (c *talk) exchange(line string, patience time.Duration) error {
	if _, err := fmt.Fprintln(c, line); err != nil {
		return err
	}
	return c.hear(line, patience)
}

func (c *talk) hear(line string, patience time.Duration) error {
	c.SetReadDeadline(time.Now().Add(patience))
	got, err := c.lines.ReadString('\n')
	if err == nil && strings.TrimSpace(got) != line {
		return fmt.Errorf("heard %q, want %q", got, line)
	}
	return err
}

func open(t *testing.T) *Proxy {
	t.Helper()
	p, err := New(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestForwards(t *testing.T) {
	p := open(t)
	c := dial(t, p)
	long := strings.Repeat("x", 100_000)
	for _, line := range []string{"a", long, "b"} {
		if err := c.exchange(line, 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStallKeepsEveryByte(t *testing.T) {
	p := open(t)
	c := dial(t, p)
	if err := c.exchange("before", 5*time.Second); err != nil {
		t.Fatal(err)
	}
	p.Stall(true)
	var timeout net.Error
	if err := c.exchange("during", 100*time.Millisecond); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("got %v through a stalled line, want a timeout", err)
	}
	p.Stall(false)
	if err := c.hear("during", 5*time.Second); err != nil {
		t.Fatal(err)
	}
}

func TestDelay(t *testing.T) {
	p := open(t)
	c := dial(t, p)
	p.Delay(150 * time.Millisecond)
	began := time.Now()
	// Lines sent together arrive together: the delay does not limit the rate.
	for i := range 5 {
		fmt.Fprintln(c, i)
	}
	for i := range 5 {
		if err := c.hear(fmt.Sprint(i), 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took < 300*time.Millisecond || took > 2*time.Second {
		t.Errorf("the round trip took %v, want about 300 ms", took)
	}
}

func TestResetAndRefuse(t *testing.T) {
	p := open(t)
	c := dial(t, p)
	if err := c.exchange("before", 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if n := p.Reset(); n != 1 {
		t.Errorf("%d connections were reset, want 1", n)
	}
	if err := c.hear("never", 5*time.Second); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a connection reset", err)
	}
	p.Refuse(true)
	if refused, err := net.Dial("tcp", p.Addr()); err == nil { // otherwise it is refused at once
		defer refused.Close()
		if err := (&talk{refused, bufio.NewReader(refused)}).exchange("refused", 5*time.Second); err == nil {
			t.Error("a refused connection answers")
		}
	}
	p.Heal()
	if err := dial(t, p).exchange("after", 5*time.Second); err != nil {
		t.Error(err)
	}
}

func TestResetEndsAStalledConnection(t *testing.T) {
	p := open(t)
	c := dial(t, p)
	if err := c.exchange("through", time.Minute); err != nil { // so the proxy has the connection
		t.Fatal(err)
	}
	p.Stall(true)
	fmt.Fprintln(c, "held back")
	p.Reset()
	if err := c.hear("held back", time.Minute); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a connection reset", err)
	}
}
