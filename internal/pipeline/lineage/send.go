package lineage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
)

// file is the path of a file that events are appended to. A link is not followed, and what is no file is refused: a
// pipe would wait for its reader.
type file string

func (f file) String() string { return string(f) }

func (f file) send(line []byte, _ time.Duration) error {
	// the first event comes before the run makes folders
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o777); err != nil {
		return reason(err)
	}
	out, err := os.OpenFile(string(f), os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return reason(err)
	}
	defer out.Close()
	info, err := out.Stat()
	if err != nil {
		return reason(err)
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	text := append(line, '\n')
	if last := make([]byte, 1); info.Size() > 0 {
		if _, err := out.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			text = append([]byte{'\n'}, text...) // what was cut off stays a line of its own
		}
	}
	if _, err := out.Write(text); err != nil { // in one write, so that two runs at once mix no lines
		return reason(err)
	}
	return reason(out.Close())
}

// reason is the system's part of an error, without a path.
func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// server takes events by POST. What it answers is counted and thrown away.
type server struct {
	address, token string
	http           *http.Client
}

// maxAnswer is how much of an answer is read, so that the connection can serve the next event.
const maxAnswer = 64 << 10

func newServer(c config.Lineage) (*server, error) {
	s := &server{address: c.URL}
	if c.Token.Given() {
		var err error
		if s.token, err = c.Token.Read(); err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
	}
	s.http = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, nil
}

// String names the server without its path.
func (s *server) String() string {
	u, err := url.Parse(s.address)
	if err != nil {
		return "url" // cannot happen: the configuration is checked
	}
	return u.Scheme + "://" + u.Host
}

func (s *server) send(line []byte, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(line))
	if err != nil {
		return errors.New("the address cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "sdlfilter")
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	answer, err := s.http.Do(request)
	if err != nil {
		return s.unreached(ctx, err, patience)
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) //nolint:errcheck // the status has arrived
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return fmt.Errorf("the answer is a redirect (%d), which is not followed", code)
	default:
		return fmt.Errorf("the answer has status %d", code)
	}
}

// unreached says why there is no answer in words of its own: an error of the client has the whole address, and may have
// what the server said.
func (s *server) unreached(ctx context.Context, err error, patience time.Duration) error {
	var (
		name   *net.DNSError
		number syscall.Errno
	)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("no answer within %s", patience)
	case errors.As(err, &name):
		return errors.New("there is no host of this name")
	case errors.As(err, &number):
		return number
	}
	return errors.New("the server cannot be reached, or is not to be trusted")
}
