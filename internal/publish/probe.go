package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
)

// Probe asks whether objects can be written under a path, an object's or a folder's, and leaves nothing there.
// Paths of this machine are not looked at. The error names the path and what helps.
func Probe(ctx context.Context, p string) error {
	if !objectpath.Is(p) {
		return nil
	}
	name, err := objectName(p)
	if err != nil {
		return err
	}
	b, err := objects.Open(ctx, name)
	if err != nil {
		return err
	}
	key := strings.TrimSuffix(name.Key, "/")
	if err = objects.Probe(ctx, b, key); errors.Is(err, objects.ErrDenied) {
		// A folder may be all that these credentials may write to.
		if objects.Probe(ctx, b, key+"/"+Success) == nil {
			err = nil
		}
	}
	switch {
	case errors.Is(err, objects.ErrNoBucket):
		err = fmt.Errorf("%w: make it, or name one that is there", err)
	case errors.Is(err, objects.ErrDenied):
		err = fmt.Errorf("%w: they need the right to write objects there, also in several parts", err)
	}
	return withName(p, err)
}
