package objects

import (
	"context"
	"errors"
)

// prober is a Bucket of a protocol that begins an upload without asking the server.
type prober interface {
	Probe(ctx context.Context, key string) error
}

// Probe asks whether an object can be written under a key, and leaves nothing behind: it begins an upload
// and gives it up (who may not do that leaves it to the bucket's lifecycle, as a run would that fails). What has
// the name stays, and is no error.
func Probe(ctx context.Context, b Bucket, key string) error {
	if p, does := b.(prober); does {
		return p.Probe(ctx, key)
	}
	up, err := b.Begin(ctx, key, newMark(), Condition{})
	if err != nil {
		return err
	}
	if err := up.Abort(ctx); err != nil && !errors.Is(err, ErrNoUpload) && !errors.Is(err, ErrDenied) {
		return err
	}
	return nil
}
