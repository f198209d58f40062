package account

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// PublishedError is an error that occurred after the release was published: the release has its name,
// and something that belongs to it has not. Or it is not known whether the release has its name (Unsure).
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
	return &PublishedError{
		&unreported{
			fmt.Sprintf(
				"the release is published (%s), but not all that belongs to it: %s; `sdlfilter verify --repair REPORT` completes a report that is left, and the same run again, with the same key, gives the same values and their report (a topic gets them a second time)", strings.Join(paths, ", "), oneLine(err)), err}}
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
	var named named
	return errors.As(err, &named) && named.There()
}

// named is an error that says whether a name that could not be taken back is there for certain: publish.NamedError,
// objects.NamedError and connectors/postgres.
type named interface {
	error
	There() bool
}

// Commit gives a release, what, its name. After an error it takes back what it can. The error is one of which Named
// says that the release has its name, a *PublishedError if that is not known, and then the reports stay under their
// temporary names, or another one: then there is no release.
func Commit(what string, release interface {
	Commit() error
	Abort() error
}, paths []string, reports *Files) error {
	err := release.Commit()
	if err == nil || Named(err) {
		return err
	}
	left := release.Abort()
	var perhaps named
	switch {
	case Named(left):
		return left
	case errors.As(left, &perhaps):
		_ = reports.Leave() // what it could not do is not what matters now
		return Unsure(paths, left)
	case errors.As(err, &perhaps):
		err = fmt.Errorf("%v; it has been taken back", err)
	}
	return fmt.Errorf("%s: %w", what, errors.Join(err, left))
}

// Unsure is the error of a release of which it is not known whether it is published.
func Unsure(paths []string, err error) error {
	return &PublishedError{
		&unreported{
			fmt.Sprintf(
				"the release may be published (%s): %s; look whether it is there. If it is, `sdlfilter verify --repair REPORT` completes a report that is left; if not, the same run again, with the same key, gives the same values and their report", strings.Join(paths, ", "), oneLine(err)), err}}
}

// AndAborted adds to the error of a run what could not be removed after it. If there is a release, or may be one,
// its error is one line that says what is where, and uploads that nobody sees do not matter.
func AndAborted(err error, abort func() error) error {
	left := abort()
	var published *PublishedError
	if errors.As(err, &published) {
		return err
	}
	return errors.Join(err, left)
}

// Partly is the error of several releases of one run of which some are published, and another could not be.
func Partly(paths []string, err error) error {
	return &PublishedError{
		&unreported{
			fmt.Sprintf(
				"of several releases some are published and could not be taken back (%s), without a report: %s; the same run again, with the same key, gives all of them and their report", strings.Join(paths, ", "), oneLine(err)), err}}
}

func oneLine(err error) string { return strings.Join(strings.Split(err.Error(), "\n"), "; ") }
