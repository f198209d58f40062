package publish

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// PartName is the name under which one of several processes writes a part below a folder of
// objects: the part's name and one of the attempt, so that two attempts never write the same
// object.
func PartName(name, attempt string) string { return partName(name, attempt) }

// IsPartName reports whether a name is one that PartName gives a part.
func IsPartName(name, part string) bool {
	stem, ext, _ := strings.Cut(part, ".")
	mark, ok := strings.CutPrefix(name, stem+"-")
	mark, ends := strings.CutSuffix(mark, "."+ext)
	_, err := hex.DecodeString(mark)
	return ok && ends && err == nil && len(mark) == 10
}

// NewAttempt is a name for an attempt, which no other has.
func NewAttempt() string {
	var mark [5]byte
	rand.Read(mark[:])
	return hex.EncodeToString(mark[:])
}

// Take makes a part of an upload that another process has written below the folder and held
// (File.Hold), under the name that the process gave it. The error is fs.ErrNotExist if the
// upload does not exist any more.
func (d *Dir) Take(ctx context.Context, name string, held json.RawMessage) error {
	if d.objects == nil {
		return fmt.Errorf("%s: is a folder of this machine, which takes files", d.path)
	}
	h, err := d.objects.readHeld(name, held)
	if err != nil {
		return err
	}
	w, err := objects.Resume(ctx, d.objects.bucket, h)
	if errors.Is(err, objects.ErrNoUpload) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return withName(d.path, err)
	}
	d.objects.parts = append(d.objects.parts, &objectPart{Writer: w, name: name, foreign: true})
	return nil
}

// readHeld reads the description of a part that another process wrote and did not publish. An
// error: it is damaged, or of another folder.
func (d *objectDir) readHeld(name string, text json.RawMessage) (*objects.Held, error) {
	h := &objects.Held{}
	if err := json.Unmarshal(text, h); err != nil || h.Key != d.prefix+name || strings.Contains(name, "..") {
		return nil, fmt.Errorf("%s: what is known of it is damaged, or of another folder", name)
	}
	return h, nil
}

// DiscardHeld gives up uploads that processes have written below a folder of objects and held.
// Objects that have their names already stay.
func DiscardHeld(ctx context.Context, folder string, held ...json.RawMessage) error {
	name, err := objectName(folder)
	if err != nil {
		return err
	}
	b, err := objects.Open(ctx, name)
	if err != nil {
		return withName(folder, err)
	}
	var errs []error
	for _, text := range held {
		h := &objects.Held{}
		if err := json.Unmarshal(text, h); err != nil {
			errs = append(errs, errors.New("what is known of the upload is damaged"))
			continue
		}
		errs = append(errs, objects.Discard(ctx, b, h))
	}
	return withName(folder, errors.Join(errs...))
}
