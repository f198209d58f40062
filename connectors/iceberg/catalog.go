package iceberg

import (
	"context"
	"errors"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
)

// catalog keeps, of each table, which metadata are the present ones.
type catalog interface {
	// load returns the table's present metadata, nil if there is no table.
	load(ctx context.Context) (*table, error)
	// prepare returns the metadata of a table that is yet to be made; it is there when its first snapshot is committed.
	prepare(ctx context.Context, schema *meta.Schema) (*table, error)
	// commit adds a snapshot to the table as it was loaded or prepared. The error is errConflict if the table has
	// become another one meanwhile, a *doubt if it is not known whether the snapshot is there, and otherwise one after
	// which it is not.
	commit(ctx context.Context, t *table, s *snapshot) error
}

// errConflict is the error of a commit to a table that was changed meanwhile.
var errConflict = errors.New("the table was changed meanwhile")

// doubt is the error of a commit of which it is not known whether the snapshot is there.
type doubt struct {
	err   error
	there bool
}

func (d *doubt) Error() string {
	if d.there {
		return "the snapshot is there, but: " + d.err.Error()
	}
	return "whether the snapshot is there is not known: " + d.err.Error()
}

func (d *doubt) Unwrap() error { return d.err }

// There reports whether the snapshot is there for certain.
func (d *doubt) There() bool { return d.there }

// catalogOf is the catalog of a place.
func (p *Place) catalogOf() (catalog, error) {
	if p.Path != "" {
		return &folder{path: p.Path}, nil
	}
	if p.isSQL() {
		return newSQL(p), nil
	}
	return newREST(p)
}

// open looks the table up; nil if it is not there.
func (p *Place) open(ctx context.Context) (*table, error) {
	c, err := p.catalogOf()
	if err != nil {
		return nil, err
	}
	return c.load(ctx)
}

// settleWait is the first wait of settle between its asks; each other one is four times as long: 8.5 s together.
var settleWait = 100 * time.Millisecond // shorter in tests

const asks = 5

// settle finds out what became of a commit whose answer says nothing of it, or that it was refused.
func settle(ctx context.Context, c catalog, s *snapshot, otherwise error) error {
	for ask, wait := 1, settleWait; ; ask, wait = ask+1, 4*wait {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restTimeout)
		t, err := c.load(ctx)
		cancel()
		if err == nil && t != nil && t.snapshot(s.ID) != nil {
			return nil
		}
		if err == nil && otherwise == errConflict || ask == asks {
			return otherwise
		}
		time.Sleep(wait)
	}
}
