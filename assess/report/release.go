package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"path/filepath"
)

// Release identifies the files that a report is about by their content, so that a report
// next to a different release is recognised: a run that is killed between two renames
// leaves such a pair. If the release was withheld, these are the files that must not be
// found under the path.
type Release struct {
	Path   string `json:"path,omitempty"`   // from the report's folder; empty: standard output, a device or a pipe
	Folder bool   `json:"folder,omitempty"` // the release is a folder of files
	Bytes  int64  `json:"bytes"`            // of all files
	// in hex; of a folder that of the lines "digest  name" of its files, by name
	SHA256 string        `json:"sha256"`
	Files  []ReleaseFile `json:"files,omitempty"` // of a folder, by name

	// Copies are the releases of one run that are copies of one another, by number; the
	// digest is then that of the lines "digest  number" of each, and the path the one that
	// has {copy} where the number goes.
	Copies []Release `json:"copies,omitempty"`
}

// ReleaseFile is one file of a folder.
type ReleaseFile struct {
	Name   string `json:"name"` // below the folder, slash-separated
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hex
}

// public leaves out the names of a folder's files, which may be values of a
// partition key, and what the path says of the folders above the report.
func (r *Release) public() *Release {
	if r == nil {
		return nil
	}
	p := &Release{Path: r.Path, Folder: r.Folder, Bytes: r.Bytes, SHA256: r.SHA256}
	if !filepath.IsLocal(filepath.FromSlash(p.Path)) {
		p.Path = filepath.Base(p.Path)
	}
	if r.Path == "" {
		p.Path = ""
	}
	for i := range r.Copies {
		p.Copies = append(p.Copies, *r.Copies[i].public())
	}
	return p
}

// ReleaseOfCopies returns the Release for several copies of one run, by their number from 1. path
// has {copy} in place of the number.
func ReleaseOfCopies(path string, copies []Release) *Release {
	r := &Release{Path: path, Copies: copies}
	h := sha256.New()
	for i, c := range copies {
		r.Bytes += c.Bytes
		fmt.Fprintf(h, "%s  %d\n", c.SHA256, i+1)
	}
	r.SHA256 = hex.EncodeToString(h.Sum(nil))
	return r
}

// Identified is the release that a report names, whether the report is public or
// confidential, JSON or a page.
type Identified struct {
	Release  *Release // nil: the report names none
	Withheld bool     // nothing was published
}

// releaseMark is the text before the release in a page.
const releaseMark = `<body data-release="`

// ReadRelease finds the release that a report names, in any form of the report.
func ReadRelease(text []byte) (Identified, error) {
	if _, after, isPage := bytes.Cut(text, []byte(releaseMark)); isPage {
		content, _, whole := bytes.Cut(after, []byte(`"`))
		if !whole {
			return Identified{}, errors.New("the page is cut off")
		}
		var id Identified
		if err := json.Unmarshal([]byte(html.UnescapeString(string(content))), &id); err != nil {
			return Identified{}, fmt.Errorf("the page's note of its release: %w", safe(err))
		}
		return id, nil
	}
	var head struct {
		Schema   string   `json:"schema"`
		Snapshot int64    `json:"snapshot"`
		Release  *Release `json:"release"`
		Withheld string   `json:"withheld"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return Identified{}, fmt.Errorf("is no report: not a JSON object, and no page that names its release: %w", safe(err))
	}
	if head.Schema != SchemaName && head.Schema != PublicSchemaName {
		return Identified{}, fmt.Errorf("is no report: schema: must be %q or %q", SchemaName, PublicSchemaName)
	}
	if head.Snapshot > 0 {
		return Identified{}, errors.New("is a snapshot, which is about no release")
	}
	return Identified{head.Release, head.Withheld != ""}, nil
}

// Note returns a text in which ReadRelease finds the release, without the names of a folder's files.
func (id Identified) Note() ([]byte, error) {
	note := map[string]any{"schema": SchemaName}
	if id.Release != nil {
		whole := *id.Release
		whole.Files, whole.Copies = nil, nil
		for _, c := range id.Release.Copies {
			c.Files = nil
			whole.Copies = append(whole.Copies, c)
		}
		note["release"] = whole
	}
	if id.Withheld {
		note["withheld"] = "yes"
	}
	return json.Marshal(note)
}

// attribute returns the release in the form that pages have for programs; "" if there is none.
func (id Identified) attribute() string {
	if id.Release == nil {
		return ""
	}
	text, err := json.Marshal(id)
	if err != nil {
		return "" // cannot happen: every Release can be written as JSON
	}
	return string(text)
}
