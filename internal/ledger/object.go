package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/ledger/place"
	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// object is a ledger in object storage. Nobody holds it: a line is added by writing the whole object anew, on the
// condition that what is there is what was read. Servers that write whatever the condition are refused.
type object struct {
	name objectpath.Name
	text []byte // as read and added
}

func (o *object) String() string { return o.name.String() }

// Hold implements place.Store. It waits for nobody.
func (o *object) Hold(ctx context.Context, _ func()) error {
	b, text, _, err := o.load(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		nothing := objects.Condition{Absent: true}
		if err = objects.PutWhole(ctx, b, o.name.Key, nil, nothing); err == nil {
			// The same once more must be refused, or two runs could begin two ledgers.
			err = o.refused(b.Put(ctx, o.name.Key, nil, "", nothing))
		}
		if err == nil || errors.Is(err, objects.ErrCondition) { // another run has made it
			b, text, _, err = o.load(ctx)
		}
	}
	if err != nil {
		return o.failed(err)
	}
	return o.failed(o.conditional(ctx, b, text))
}

var errUnconditional = errors.New(
	"the server writes objects whatever the condition, so that two runs could enter releases at once: a ledger needs a store that keeps to If-Match and If-None-Match")

// refused is nil if a writing on a condition that does not hold was refused for it.
func (o *object) refused(err error) error {
	switch {
	case err == nil:
		return errUnconditional
	case errors.Is(err, objects.ErrCondition), errors.Is(err, objects.ErrAbsent):
		return nil
	}
	return err
}

// conditional demands that the server lets this run write, and keeps to the condition by which lines are added: it is
// to write what is there, text, in the place of a state that there never was.
func (o *object) conditional(ctx context.Context, b objects.Bucket, text []byte) error {
	never := objects.Condition{ETag: `"0x0"`}
	if o.name.Scheme == "gs" {
		never.ETag = "1" // generations are numbers
	}
	return o.refused(b.Put(ctx, o.name.Key, text, "", never))
}

// load reads the object, whose state is etag. The error is fs.ErrNotExist without one.
func (o *object) load(ctx context.Context) (b objects.Bucket, text []byte, etag string, err error) {
	if b, err = objects.Open(ctx, o.name); err != nil {
		return nil, nil, "", err
	}
	for range 5 { // others may write it between two requests
		var info objects.Info
		if info, err = b.Head(ctx, o.name.Key); err != nil {
			break
		}
		if info.ETag == "" {
			return b, nil, "", errors.New("the server tells no ETag, without which nothing can be entered")
		}
		r := objects.NewReader(ctx, b, info)
		r.Want(objects.Extent{To: info.Size})
		text, err = io.ReadAll(r)
		r.Close()
		if etag = info.ETag; !errors.Is(err, objects.ErrCondition) {
			break
		}
	}
	if errors.Is(err, objects.ErrAbsent) {
		err = place.ErrAbsent
	}
	return b, text, etag, err
}

// Read implements place.Store.
func (o *object) Read(ctx context.Context) (text []byte, err error) {
	if _, o.text, _, err = o.load(ctx); err != nil {
		return nil, o.failed(err)
	}
	return o.text, nil
}

// Add implements place.Store.
func (o *object) Add(ctx context.Context, line []byte) error {
	b, there, etag, err := o.load(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !bytes.Equal(there, o.text):
		return o.failed(objects.ErrCondition)
	case err != nil:
		return o.failed(err)
	}
	text := slices.Concat(there, line)
	if err = objects.PutWhole(ctx, b, o.name.Key, text, objects.Condition{ETag: etag}); err != nil {
		// The answer may have been lost, and another run may have added a line since.
		if _, now, _, unknown := o.load(ctx); unknown != nil || !bytes.HasPrefix(now, text) {
			return o.failed(err)
		}
	}
	o.text = text
	return nil
}

// Probe implements place.Store.
func (o *object) Probe(ctx context.Context) error {
	b, text, _, err := o.load(ctx)
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return o.failed(err)
	}
	if err = o.conditional(ctx, b, text); absent && errors.Is(err, errUnconditional) {
		err = errors.Join(err, b.Delete(ctx, o.name.Key)) // which has now been made
	}
	return o.failed(err)
}

// failed names the object in an error.
func (o *object) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, objects.ErrCondition):
		err = place.ErrMoved
	case errors.Is(err, objects.ErrDenied):
		err = fmt.Errorf("%w: a ledger needs the right to read and write this object", err)
	}
	return fmt.Errorf("%s: %w", o, err)
}

// Close implements place.Store.
func (o *object) Close() error { return nil }
