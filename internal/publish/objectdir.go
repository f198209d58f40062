package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/objects"
)

// Success is the name of the object that makes the parts below a prefix a release. Hadoop
// and Spark know it as the mark of what is complete.
const Success = "_SUCCESS"

// MostSuccess is how large a manifest is at most.
const MostSuccess = 64 << 20

// ManifestSchema names the form of a manifest; a change raises the number.
const ManifestSchema = "sdlfilter.parts/1"

// Manifest is what the object Success says: which parts are the release.
type Manifest struct {
	Schema string         `json:"schema"`
	Parts  []ManifestPart `json:"parts"` // in the order of their names
}

// ManifestPart is one object of a release.
type ManifestPart struct {
	Name   string `json:"name"` // below the folder
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	ETag   string `json:"etag"`
}

// ReadManifest reads a manifest; nil where the text is none of this program.
func ReadManifest(text []byte) (*Manifest, error) {
	m := &Manifest{}
	if json.Unmarshal(text, m) != nil || !strings.HasPrefix(m.Schema, "sdlfilter.parts/") {
		return nil, nil
	}
	if m.Schema != ManifestSchema {
		return nil, fmt.Errorf("is a manifest of the form %q, and this program reads %s", m.Schema, ManifestSchema)
	}
	for _, p := range m.Parts {
		if !filepath.IsLocal(p.Name) || strings.HasSuffix(p.Name, "/") || p.Bytes < 0 {
			return nil, errors.New("is damaged: it names a part that cannot be one")
		}
	}
	return m, nil
}

// objectDir is a folder of objects that is a release from the moment at which its manifest
// has its name. There is no rename: the parts get their names one after another, new ones
// that no earlier release has, and what reads the folder by its manifest sees either
// release whole, whenever it looks and whenever the run dies.
type objectDir struct {
	bucket     objects.Bucket
	prefix     string // ends in a slash
	ext        string
	mark       string // in the names of the parts
	listed     bool   // by something else: the parts have the names they are given, and there is no manifest
	before     manifest
	parts      []*objectPart
	done       bool
	superseded bool  // another release has come meanwhile
	unknown    error // that of a commit of which it is not known whether it has made a release
}

type objectPart struct {
	*objects.Writer
	name    string
	foreign bool // written by another process
}

// Sync implements Part.
func (p *objectPart) Sync() error { return p.Finish() }

// Close implements Part.
func (p *objectPart) Close() error { return nil }

func createObjectDir(path, ext string) (*objectDir, error) {
	name, err := objectName(path)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	b, err := objects.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	d := &objectDir{bucket: b, prefix: strings.TrimSuffix(name.Key, "/") + "/", ext: ext}
	d.mark = NewAttempt()
	if d.before, err = manifestOf(ctx, b, d.prefix); err != nil {
		return nil, err
	}
	_, err = d.replaced(ctx)
	return d, err
}

// replaced lists the parts of what is there. It is an error if anything else is: it would
// be lost, or be taken for a part.
func (d *objectDir) replaced(ctx context.Context) ([]string, error) {
	var parts []string
	err := d.bucket.List(ctx, d.prefix, func(o objects.Info) error {
		rel := strings.TrimPrefix(o.Key, d.prefix)
		switch {
		case rel == Success, rel == "" && o.Size == 0:
		case strings.HasSuffix(rel, d.ext):
			parts = append(parts, o.Key)
		default:
			return fmt.Errorf("holds %s, which is not part of a release and would be lost; name a folder of its own",
				rel[strings.LastIndexByte(rel, '/')+1:])
		}
		return nil
	})
	return parts, err
}

func (d *objectDir) create(name string) (Part, error) {
	if name = filepath.ToSlash(name); !d.listed {
		name = partName(name, d.mark)
	}
	w, err := objects.NewWriter(context.Background(), d.bucket, d.prefix+name, true)
	if err != nil {
		return nil, err
	}
	p := &objectPart{Writer: w, name: name}
	d.parts = append(d.parts, p)
	return p, nil
}

func (d *objectDir) content() *Content {
	c := &Content{Path: "", Folder: true}
	for _, p := range d.parts {
		size, digest := p.Sum()
		c.Files = append(c.Files, FileContent{Name: p.name, Bytes: size, SHA256: digest})
	}
	slices.SortFunc(c.Files, func(a, b FileContent) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// commit makes the parts a release:
//
//  1. what lies there is listed;
//  2. every part gets its name, which nothing has;
//  3. the manifest takes the place of the one that was there when the run began, and of no
//     other: this is the moment of the release;
//  4. what was listed is removed.
//
// A run that dies before the third step has published nothing; before the end of the
// fourth it leaves parts that no manifest names, which the next release removes. What
// another run has put there since the first step is not touched: either its manifest comes
// after this one, or it is refused.
func (d *objectDir) commit() error {
	if d.done {
		return nil
	}
	if d.listed {
		return d.name()
	}
	ctx := context.Background()
	old, err := d.replaced(ctx)
	if err != nil {
		return err
	}
	old = slices.DeleteFunc(old, func(key string) bool {
		return slices.ContainsFunc(d.parts, func(p *objectPart) bool { return p.Key() == key })
	})
	m := Manifest{Schema: ManifestSchema, Parts: []ManifestPart{}}
	for _, p := range d.parts {
		before := p.Committed()
		if err := p.Writer.Commit(); err != nil {
			return ofPart(err)
		}
		info, err := d.bucket.Head(ctx, p.Key())
		if err != nil {
			return err
		}
		if before && d.passedOver(p, info) {
			return fmt.Errorf(
				"another release has come since an earlier commit named %s, and may remove it: run the shards again", p.name)
		}
		size, digest := p.Sum()
		m.Parts = append(m.Parts, ManifestPart{p.name, size, digest, info.ETag})
	}
	slices.SortFunc(m.Parts, func(a, b ManifestPart) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	c := objects.Condition{Absent: d.before.ETag == "", ETag: d.before.ETag}
	if err := objects.PutWhole(ctx, d.bucket, d.prefix+Success, append(text, '\n'), c); err != nil && !d.anyway(ctx, m) {
		if err := d.unsettled(ctx, m, err); err != nil {
			return err
		}
	}
	d.done = true
	for _, key := range old {
		// The release is complete, and a reader that uses its manifest does not see the remaining
		// objects: the next release removes them.
		if d.bucket.Delete(ctx, key) != nil {
			break
		}
	}
	return nil
}

// name gives all parts their names, which nothing has.
func (d *objectDir) name() error {
	for _, p := range d.parts {
		if err := p.Writer.Commit(); err != nil {
			return ofPart(err)
		}
	}
	d.done = true
	return nil
}

// anyway reports whether this release exists although its manifest could not be written:
// another process has committed the same parts.
func (d *objectDir) anyway(ctx context.Context, m Manifest) bool {
	if !slices.ContainsFunc(d.parts, func(p *objectPart) bool { return p.foreign }) {
		return false
	}
	now, err := manifestOf(ctx, d.bucket, d.prefix)
	return err == nil && now.Manifest != nil && slices.Equal(now.Parts, m.Parts)
}

// passedOver reports whether a release that does not name a part has come since the part got its name. The
// run of that release may have listed the part, and removes what it has listed whenever it goes on.
func (d *objectDir) passedOver(p *objectPart, info objects.Info) bool {
	if d.before.ETag == "" || info.Modified.After(d.before.Modified) {
		return false
	}
	return d.before.Manifest == nil || !slices.ContainsFunc(d.before.Parts, func(m ManifestPart) bool {
		return m.Name == p.name
	})
}

// stillUnknown is the error of a commit whose outcome is not known, once.
func (d *objectDir) stillUnknown() (err error) {
	if d != nil {
		err, d.unknown = d.unknown, nil
	}
	return err
}

// ofPart is the error of a part. Whether it has its name does not matter as long as no manifest names it.
func ofPart(err error) error {
	var named *objects.NamedError
	if errors.As(err, &named) {
		return fmt.Errorf("a part, which may be left beside the releases until the next one: %v", named.Err)
	}
	return err
}

// unsettled finds out whether a manifest whose write failed has been written all the same. If it was, or if
// that cannot be found out, its parts stay, and the error is a *objects.NamedError.
func (d *objectDir) unsettled(ctx context.Context, m Manifest, err error) error {
	var perhaps *objects.NamedError
	if !errors.As(err, &perhaps) {
		d.superseded = errors.Is(err, objects.ErrCondition)
		return err // the server has refused
	}
	now, unknown := manifestOf(ctx, d.bucket, d.prefix)
	switch {
	case unknown == nil && now.ETag == d.before.ETag:
		return fmt.Errorf("%s: %v", Success, perhaps.Err)
	case unknown == nil && now.Manifest != nil && slices.Equal(now.Parts, m.Parts):
		return nil
	}
	d.done, d.unknown = true, &objects.NamedError{Err: fmt.Errorf("its %s tells: %v", Success, perhaps.Err)}
	return d.unknown
}

// abort takes back what has been written, parts that have their names included. What
// other processes have written stays, so that it can be committed again, but for uploads that
// another release has overtaken. Parts of theirs that have names stay in any case: another commit may be
// about to publish them. After commit it does nothing.
func (d *objectDir) abort() error {
	if d == nil || d.done {
		return d.stillUnknown()
	}
	d.done = true
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	for _, p := range d.parts {
		if p.foreign && (!d.superseded || p.Committed()) {
			continue
		}
		if p.Committed() {
			errs = append(errs, d.bucket.Delete(ctx, p.Key()))
		} else {
			errs = append(errs, ofPart(p.Writer.Abort()))
		}
	}
	return errors.Join(errs...)
}
