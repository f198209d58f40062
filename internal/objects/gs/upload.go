package gs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// grain is what every request of an upload but the last one must hold a multiple of.
const grain = 256 << 10

// upload is a session. The server takes the bytes in their order alone, so parts wait for
// those before them, and what is left of the last grain waits for Complete.
type upload struct {
	*bucket
	key, id string
	cond    objects.Condition

	mu     sync.Mutex
	next   int           // the part whose turn it is
	moved  chan struct{} // closed when next or failed has changed
	failed error

	sent int64 // what the server has
	tail []byte
	crc  uint32 // of sent and tail
}

func (b *bucket) Begin(ctx context.Context, key, mark string, c objects.Condition) (objects.Upload, error) {
	path, metadata, err := b.writing("resumable", key, mark, "", c)
	if err != nil {
		return nil, err
	}
	a,
		err := b.written(ctx,
		&request{method: http.MethodPost, path: path, body: [][]byte{metadata}, header: map[string]string{
			"Content-Type": "application/json; charset=UTF-8",
		}})
	if err != nil {
		return nil, err
	}
	// The server names an address; of it the name of the upload is used and nothing else,
	// so that the token goes nowhere else.
	at, err := url.Parse(a.header.Get("Location"))
	if err != nil || at.Query().Get("upload_id") == "" {
		return nil, errors.New("the server's answer is none of Cloud Storage's")
	}
	return &upload{bucket: b, key: key, id: at.Query().Get("upload_id"), cond: c, next: 1, moved: make(chan struct{})}, nil
}

func (u *upload) Part(ctx context.Context, number int, data []byte) error {
	if err := u.wait(ctx, number); err != nil {
		return err
	}
	u.mu.Lock()
	again := number < u.next
	u.mu.Unlock()
	if again {
		return nil
	}
	err := u.add(ctx, data)
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		u.failed = err
	} else {
		u.next++
	}
	close(u.moved)
	u.moved = make(chan struct{})
	return err
}

// wait waits until it is a part's turn.
func (u *upload) wait(ctx context.Context, number int) error {
	for {
		u.mu.Lock()
		next, moved, err := u.next, u.moved, u.failed
		u.mu.Unlock()
		if err != nil || number <= next {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// add sends what makes whole grains, and keeps the rest.
func (u *upload) add(ctx context.Context, data []byte) error {
	u.crc = crc32.Update(u.crc, castagnoli, data)
	if len(u.tail) > 0 {
		data = append(u.tail, data...)
	}
	whole := len(data) / grain * grain
	if whole > 0 {
		if _, err := u.push(ctx, data[:whole], -1); err != nil {
			return err
		}
	}
	u.tail = append([]byte(nil), data[whole:]...)
	return nil
}

// push sends what follows on what the server has. total is the object's size, with which it
// is complete, or -1. A request that fails may have been done all the same, or in part: the
// server is asked what it has, and the rest is sent.
func (u *upload) push(ctx context.Context, body []byte, total int64) (*answer, error) {
	ask := false
	for try := 1; ; try++ {
		r := u.request(http.MethodPut, u.stretch(len(body), total, ask))
		if !ask {
			r.body = [][]byte{body}
			if total >= 0 {
				r.header["X-Goog-Hash"] = "crc32c=" + encoded(u.crc)
			}
		}
		a, err := u.once(ctx, r)
		switch {
		case again(a, err):
			if err := u.tryAgain(ctx, a, err, try); err != nil {
				return nil, err
			}
			ask = true
			continue
		case err != nil:
			return nil, u.unsent(ctx, err)
		case a.status != http.StatusPermanentRedirect:
			return a, u.endError(a, total)
		}
		persisted, err := a.persisted()
		if err != nil || persisted < u.sent || persisted > u.sent+int64(len(body)) {
			return nil, objects.ErrNoUpload // it is not the one that was written
		}
		if persisted > u.sent {
			try = 0
		}
		wasAsked := ask
		body, u.sent, ask = body[persisted-u.sent:], persisted, false
		if len(body) == 0 && total < 0 {
			return a, nil
		}
		if try >= tries {
			return nil, errors.New("the server takes no more of the upload")
		}
		if try > 0 && !wasAsked {
			if err := pause(ctx, a, try); err != nil {
				return nil, err
			}
		}
	}
}

// tryAgain pauses before a request is made again that failed, or that the server could not do; it
// returns an error if it was made often enough.
func (u *upload) tryAgain(ctx context.Context, a *answer, err error, try int) error {
	if try < tries {
		return pause(ctx, a, try)
	}
	if err != nil {
		return u.unsent(ctx, err)
	}
	return a.refused()
}

// endError says what the answer means with which an upload has ended, or may have.
func (u *upload) endError(a *answer, total int64) error {
	switch {
	case a.status == http.StatusNotFound, a.status == http.StatusGone, a.status == statusGivenUp:
		return objects.ErrNoUpload
	case a.status >= 300:
		return a.refused()
	case total < 0:
		return errors.New("the server has completed an upload that is not")
	}
	return nil
}

// statusGivenUp is the answer to what is asked of an upload that was given up, and to the
// request that gives it up.
const statusGivenUp = 499

// persisted is how many bytes the server has, by its answer.
func (a *answer) persisted() (int64, error) {
	text := a.header.Get("Range")
	if text == "" {
		return 0, nil
	}
	last, ok := strings.CutPrefix(strings.Replace(text, "bytes 0-", "bytes=0-", 1), "bytes=0-")
	n, err := strconv.ParseInt(last, 10, 64)
	if err != nil || !ok || n < 0 {
		return 0, errors.New("the server's answer is none of Cloud Storage's")
	}
	return n + 1, nil
}

// stretch is a request's Content-Range: of n bytes that follow on what the server has, or
// of a question what it has.
func (u *upload) stretch(n int, total int64, ask bool) string {
	of := "*"
	if total >= 0 {
		of = strconv.FormatInt(total, 10)
	}
	switch {
	case ask:
		return "bytes */*"
	case n == 0:
		return "bytes */" + of
	}
	return fmt.Sprintf("bytes %d-%d/%s", u.sent, u.sent+int64(n)-1, of)
}

func (u *upload) request(method, stretch string) *request {
	q := url.Values{"uploadType": {"resumable"}, "name": {u.key}, "upload_id": {u.id}}
	r := &request{method: method, path: "/upload/storage/v1/b/" + u.name + "/o?" + q.Encode(), header: map[string]string{}}
	if stretch != "" {
		r.header["Content-Range"] = stretch
	}
	return r
}

func (u *upload) Complete(ctx context.Context, c objects.Condition) error {
	if c != u.cond {
		return errors.New("the condition for completing an upload differs from the one at its start")
	}
	size := u.sent + int64(len(u.tail))
	a, err := u.push(ctx, u.tail, size)
	if err != nil {
		return err
	}
	var o object
	if err := json.Unmarshal(a.text, &o); err != nil {
		o = object{}
	}
	info, err := o.info()
	switch {
	case err != nil:
		return err
	case info.Size == size && (o.CRC32C == "" || o.CRC32C == encoded(u.crc)):
		return nil
	}
	// The server was told the sum, and has not held it against what it got.
	_,
		err = u.ask(ctx,
		&request{method: http.MethodDelete, path: u.path(u.key, url.Values{"ifGenerationMatch": {o.Generation}})})
	if err != nil {
		return fmt.Errorf("%w, and they could not be removed: %v", objects.ErrDamaged, err)
	}
	return fmt.Errorf("%w; they were removed", objects.ErrDamaged)
}

func (u *upload) Abort(ctx context.Context) error {
	a, err := u.send(ctx, u.request(http.MethodDelete, ""))
	switch {
	case err != nil:
		return err
	case a.status == http.StatusNotFound, a.status == http.StatusGone:
		return objects.ErrNoUpload
	case a.status < 300, a.status == statusGivenUp:
		return nil
	}
	return a.refused()
}

// token is an upload as another process takes it up.
type token struct {
	ID     string `json:"id"`
	Sent   *int64 `json:"sent"`
	Tail   []byte `json:"tail,omitempty"`
	CRC32C uint32 `json:"crc32c"`
	Absent bool   `json:"absent"`
	ETag   string `json:"etag,omitempty"`
}

func (u *upload) Token() (json.RawMessage, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failed != nil {
		return nil, u.failed
	}
	return json.Marshal(token{u.id, &u.sent, u.tail, u.crc, u.cond.Absent, u.cond.ETag})
}

func (b *bucket) Resume(key string, text json.RawMessage) (objects.Upload, error) {
	var t token
	if err := json.Unmarshal(text, &t); err != nil || t.ID == "" || t.Sent == nil || *t.Sent < 0 || *t.Sent%grain != 0 ||
		len(t.Tail) >= grain {
		return nil, errors.New("what is known of the upload is damaged")
	}
	return &upload{
		bucket: b, key: key, id: t.ID, cond: objects.Condition{Absent: t.Absent, ETag: t.ETag}, next: 1,
		moved: make(chan struct{}),
		sent:  *t.Sent, tail: t.Tail, crc: t.CRC32C,
	}, nil
}

func (u *upload) There(ctx context.Context) error {
	a, err := u.send(ctx, u.request(http.MethodPut, "bytes */*"))
	if err != nil {
		return err
	}
	if a.status == http.StatusPermanentRedirect {
		// An earlier attempt to complete it may have sent a part of the tail.
		if has, err := a.persisted(); err != nil || has < u.sent || has > u.sent+int64(len(u.tail)) {
			return objects.ErrNoUpload
		}
		return nil
	}
	if err := u.endError(a, 0); err != nil {
		return err
	}
	return objects.ErrNoUpload // it is complete
}
