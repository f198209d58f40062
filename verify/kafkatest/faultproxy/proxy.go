// Package faultproxy is a TCP proxy that stalls, delays, resets and refuses
// connections: it simulates network faults between a program and a broker.
package faultproxy

import (
	"net"
	"sync"
	"time"
)

// Proxy forwards connections to one address. Its faults can be changed at any
// time and also affect open connections.
type Proxy struct {
	target   string
	listener net.Listener
	serving  sync.WaitGroup

	mu     sync.Mutex
	links  map[*link]struct{}
	delay  time.Duration
	refuse bool
	closed bool
	flow   chan struct{} // closed while bytes may pass; a new one while they are stalled
}

// link is one connection with its two sides.
type link struct {
	client, server net.Conn
	done           chan struct{}
	once           sync.Once
}

// New listens on a free port of loopback and forwards to target.
func New(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, listener: l, links: map[*link]struct{}{}, flow: make(chan struct{})}
	close(p.flow)
	p.serving.Go(p.accept)
	return p, nil
}

// Addr returns the address on which the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Stall stops (on) or resumes the transfer in both directions. New connections are
// accepted meanwhile, as by a host that does not answer.
func (p *Proxy) Stall(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flow:
		if on {
			p.flow = make(chan struct{})
		}
	default:
		if !on {
			close(p.flow)
		}
	}
}

// Delay delays every byte by d, without limiting the bandwidth.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Refuse closes new connections immediately; open ones are not affected.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// Reset ends every open connection with a TCP reset in both directions, even during a
// transfer, and returns their number.
func (p *Proxy) Reset() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.links)
	for l := range p.links {
		l.reset()
	}
	return n
}

// Heal ends all faults.
func (p *Proxy) Heal() {
	p.Stall(false)
	p.Delay(0)
	p.Refuse(false)
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.listener.Close()
	p.Reset()
	p.serving.Wait()
}

func (l *link) reset() {
	l.once.Do(func() {
		close(l.done)
		for _, c := range []net.Conn{l.client, l.server} {
			// With a linger time of 0, closing sends a reset and drops unsent bytes.
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	})
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse := p.refuse || p.closed
		p.mu.Unlock()
		if refuse {
			client.(*net.TCPConn).SetLinger(0)
			client.Close()
			continue
		}
		p.serving.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		client.Close()
		return
	}
	l := &link{client: client, server: server, done: make(chan struct{})}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		l.reset()
		return
	}
	p.links[l] = struct{}{}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.forward(l, server, client) })
	both.Go(func() { p.forward(l, client, server) })
	both.Wait()
	l.reset()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// forward copies bytes in one direction. It notes the time at which they were read, so
// that a delay shifts the stream in time and does not make it slower.
func (p *Proxy) forward(l *link, to, from net.Conn) {
	type chunk struct {
		data []byte
		due  time.Time
	}
	chunks := make(chan chunk, 256)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(chunks)
		for {
			buffer := make([]byte, 32<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				p.mu.Lock()
				due := time.Now().Add(p.delay)
				p.mu.Unlock()
				select {
				case chunks <- chunk{buffer[:n], due}:
				case <-l.done:
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	for c := range chunks {
		if !p.wait(l, time.Until(c.due)) {
			break
		}
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	// If one side ends, both are closed; Kafka's protocol has no half-closed connections.
	l.reset()
	reading.Wait()
}

// wait waits until a chunk is due and bytes may pass; false if the connection has ended
// meanwhile.
func (p *Proxy) wait(l *link, d time.Duration) bool {
	if d > 0 {
		select {
		case <-time.After(d):
		case <-l.done:
			return false
		}
	}
	p.mu.Lock()
	flow := p.flow
	p.mu.Unlock()
	select {
	case <-flow:
		return true
	case <-l.done:
		return false
	}
}
