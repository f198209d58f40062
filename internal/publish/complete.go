package publish

import (
	"errors"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// NamedError is an error that occurred after a file or a folder had got its name: readers see it.
type NamedError struct {
	Path string
	Err  error
	what string // is wrong
}

func (e *NamedError) Error() string {
	return e.Path + ": has its name, but " + e.what + ": " + e.Err.Error()
}

// There reports that the name is there.
func (e *NamedError) There() bool { return true }

// Unwrap returns the cause.
func (e *NamedError) Unwrap() error { return e.Err }

// named is the error of a name that was given, and that is perhaps not on the disk yet.
func named(path string, err error) error {
	if err == nil {
		return nil
	}
	return &NamedError{path, err, "it is not known whether it survives a crash of the machine"}
}

// beside is the error of what could not be removed after a name was given.
func beside(path string, err error) error {
	if err == nil {
		return nil
	}
	return &NamedError{path, err,
		"what is hidden beside it, the release that it replaces or a lock, could not be removed; the next run removes it"}
}

// Pauses are the times before a name is tried again. Tests in which each try fails shorten them.
var Pauses = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond}

// Complete is Commit of a file after the release has its name, when nothing can be taken back any more:
// what fails is tried again, a few times.
func (f *File) Complete() error {
	err := f.Commit()
	for _, pause := range Pauses {
		var named *NamedError
		if err == nil || f.device || errors.As(err, &named) || errors.Is(err, objects.ErrCondition) {
			break
		}
		time.Sleep(pause)
		err = f.Commit()
	}
	return err
}

// Stage is Finish for what gets its name after the release: of an object, even a small one, everything
// is uploaded, so that a missing bucket or right is found before there is a release.
func (f *File) Stage() error {
	if f.object != nil {
		return withName(f.path, f.object.Stage())
	}
	return f.Finish()
}
