package account

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// PublishedError is an error that occurred after the release was published: the release has its name,
// and something that belongs to it has not.
type PublishedError struct{ Err error }

func (e *PublishedError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *PublishedError) Unwrap() error { return e.Err }

// Unreported is the error of a release that is published under some paths, while something that belongs
// to it could not be: in one line, what is where and what helps.
func Unreported(paths []string, err error) error {
	if err == nil {
		return nil
	}
	reasons := strings.Join(strings.Split(err.Error(), "\n"), "; ")
	return &PublishedError{&unreported{fmt.Sprintf("the release is published (%s), but not all that belongs to it: %s; `sdlfilter verify --repair REPORT` completes a report that is left, and the same run again, with the same key, gives the same values and their report (a topic gets them a second time)", strings.Join(paths, ", "), reasons), err}}
}

type unreported struct {
	text string
	err  error
}

func (e *unreported) Error() string { return e.text }
func (e *unreported) Unwrap() error { return e.err }

// Ends reports whether an error keeps what is left of a run from its names too: all errors do before there is a
// release. Afterwards only one that says that somebody else has written there, which is another run of the same:
// of two runs at once, one gives all files their names.
func Ends(err error, released bool) bool {
	return err != nil && (!released || errors.Is(err, objects.ErrCondition))
}

// Named reports whether an error of a commit says that the release has its name all the same.
func Named(err error) bool {
	var named *publish.NamedError
	return errors.As(err, &named)
}
