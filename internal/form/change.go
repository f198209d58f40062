package form

import (
	"slices"

	yaml "go.yaml.in/yaml/v3"
)

// Change is what settings have made of one scalar of the file.
type Change struct {
	Path   string
	Names  []string // those of the path, without the indexes of lists
	Origin string   // "--set PATH" or "environment NAME"
	Old    *string  // nil: the file says nothing
	Now    string
	Added  bool // it belongs to an element of a list that settings have added
}

// Changes are what settings have made of the file.
func (r *Reading) Changes() []Change { return r.changes }

// Origins are the settings that are not from the file, each once and in order.
func (r *Reading) Origins() []string {
	var all []string
	for _, origin := range r.origin {
		if !slices.Contains(all, origin) {
			all = append(all, origin)
		}
	}
	slices.Sort(all)
	return all
}

// Origin says where the value at path comes from: "--set PATH", "environment NAME", or
// "" where it stands in the file or is not given.
func (r *Reading) Origin(path string) string { return r.origin[r.values[path]] }

// note remembers what a setting changes: the file's own value, however many
// settings come after one another.
func (r *Reading) note(steps []Step, old *yaml.Node, s setting) {
	c := Change{Origin: s.origin, Now: s.value}
	for _, st := range steps {
		c.Path = st.append(c.Path)
		if st.Name != "" {
			c.Names = append(c.Names, st.Name)
		} else if r.grown[c.Path] {
			c.Added = true
		}
	}
	if i := slices.IndexFunc(r.changes, func(b Change) bool { return b.Path == c.Path }); i >= 0 {
		r.changes[i].Now, r.changes[i].Origin = c.Now, c.Origin
		return
	}
	if !isNull(old) {
		was := old.Value
		c.Old = &was
	}
	r.changes = append(r.changes, c)
}
