package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Publication is a judged release with all that belongs to it, under temporary names. Publish knows the order of the
// steps; the fields have what differs.
type Publication struct {
	Released  bool         // the gate has let it go
	Paths     []string     // of the release
	Complete  func() error // completes the reports and what else must be whole before anything gets its name
	Unchanged func() error // demands that the source is what it was, up to this moment
	Withhold  func() error // removes a release that the gate has refused
	Before    func() error // is done last before the release has its name, such as its entry into the ledger; nil: nothing
	Name      func() error // gives the release its name; an error is one of Commit
	Settle    func(error)  // tells the ledger what Name has returned; nil: there is none
	Rest      Rest
	Log       zerolog.Logger
}

// Rest gives what belongs to a release, or to one that is withheld, its names, and returns them: the report last.
type Rest []func(released bool) ([]string, error)

// Appear gives all of the rest its names. With a release, what fails does not keep the others from theirs (but see
// Ends).
func (r Rest) Appear(released bool) (files []string, err error) {
	for _, give := range r {
		some, failed := give(released)
		files = append(files, some...)
		if err = errors.Join(err, failed); Ends(err, released) {
			break
		}
	}
	return files, err
}

// Publish gives a release its name, and then the rest, the report last; or nothing but the rest of what is withheld. It
// returns the names, the release's first.
func (p *Publication) Publish(ctx context.Context) (files []string, err error) {
	if err := p.Complete(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := p.Unchanged(); err != nil {
		return nil, err
	}
	if !p.Released {
		if err := p.withhold(ctx); err != nil {
			return nil, err
		}
	} else {
		if p.Before != nil {
			if err := p.Before(); err != nil {
				return nil, err
			}
		}
		if err = p.name(); err != nil && !Named(err) {
			return nil, err
		}
		files = append(files, p.Paths...)
	}
	// From here on nothing that fails takes a release back.
	rest, failed := p.Rest.Appear(p.Released)
	if err = errors.Join(err, failed); err != nil && p.Released {
		err = Unreported(p.Paths, err)
	}
	if err != nil {
		return nil, err
	}
	return append(files, rest...), nil
}

// name gives the release its name, and tells the ledger.
func (p *Publication) name() error {
	err := p.Name()
	if p.Settle != nil {
		p.Settle(err)
	}
	return err
}

// withhold removes the release.
func (p *Publication) withhold(ctx context.Context) error {
	if err := p.Withhold(); err != nil {
		return err
	}
	for _, path := range p.Paths {
		if publish.Exists(ctx, path) {
			p.Log.Warn().Str("path", path).Msg("withheld: what is under this name is an earlier release, left as it was")
		}
	}
	return nil
}

// Saying returns a step whose errors say what it is about.
func Saying(what string, step func() error) func() error {
	return func() error {
		if err := step(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
}

// Appear is Commit of the reports as the last of the Rest.
func (f *Files) Appear(released bool) ([]string, error) {
	paths, err := f.Commit(released)
	if err != nil {
		err = fmt.Errorf("report: %w", err)
	}
	return paths, err
}

// Appears gives a file its name; nil: there is none. A public one is removed where nothing is released.
func Appears(what string, file *publish.File, public bool) func(released bool) ([]string, error) {
	return func(released bool) (paths []string, err error) {
		switch {
		case file == nil:
			return nil, nil
		case public && !released:
			err = file.Abort()
		default:
			err = file.Complete()
			paths = []string{file.Path()}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return paths, nil
	}
}
