package registry

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// atOnce is the number of schemas that Same asks for at a time.
const atOnce = 8

// Same returns an error if the registry has another schema by now under a number that was asked for: it was emptied and
// filled anew, and what was written since would be read by the wrong schema, which takes one column for another. Each
// is asked for once. A registry that gives no answer, or has no such schema, proves nothing.
func (c *Client) Same(ctx context.Context) error {
	known := c.byID.all()
	var wait sync.WaitGroup
	var mu sync.Mutex
	var changed []uint32
	places := make(chan struct{}, atOnce)
	for id, s := range known {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			defer bug.Guard()
			now, err := c.sr.SchemaByID(ctx, int(id))
			if requireSchema(now, err) != nil || s.equal(schemaOf(sr.SubjectSchema{ID: int(id), Schema: now})) {
				return
			}
			mu.Lock()
			changed = append(changed, id)
			mu.Unlock()
		})
	}
	wait.Wait()
	if len(changed) == 0 {
		return nil
	}
	return &Error{Kind: Remade, Doing: fmt.Sprintf("read schema %d again", slices.Min(changed)),
		Reason: "it is another one than before: the registry was made anew, and messages that were written before and since need different schemas under one number; read them apart, with a topic for each"}
}

// equal reports whether two answers are the same schema.
func (s Schema) equal(o Schema) bool {
	return s.Type == o.Type && s.Text == o.Text && slices.Equal(s.References, o.References)
}
