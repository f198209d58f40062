package members

import (
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Frame returns the text around the values of a record: one piece before each,
// and one after the last. A dotted name is a path into nested objects; where
// that cannot be, since one name is the beginning of another or columns of one
// object do not follow one another, all names stay whole.
func Frame(release []microdata.Output) []string {
	if len(release) == 0 {
		return []string{"{}"}
	}
	nest := nestable(release)
	var out, open []string
	for i, o := range release {
		path := []string{o.Field.Name}
		if nest {
			path = strings.Split(o.Field.Name, ".")
		}
		inside := path[:len(path)-1]
		k := shared(open, inside)
		var b strings.Builder
		b.WriteString(strings.Repeat("}", len(open)-k))
		if i == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		for _, name := range inside[k:] {
			b.Write(Quote(nil, name))
			b.WriteString(":{")
		}
		b.Write(Quote(nil, path[len(path)-1]))
		b.WriteByte(':')
		out = append(out, b.String())
		open = inside
	}
	return append(out, strings.Repeat("}", len(open)+1))
}

func shared(a, b []string) int {
	k := 0
	for k < len(a) && k < len(b) && a[k] == b[k] {
		k++
	}
	return k
}

func nestable(release []microdata.Output) bool {
	closed, values := map[string]bool{}, map[string]bool{}
	var open []string
	for _, o := range release {
		path := strings.Split(o.Field.Name, ".")
		inside := path[:len(path)-1]
		for k := shared(open, inside); k < len(open); k++ {
			closed[strings.Join(open[:k+1], ".")] = true
		}
		for k := range inside {
			if object := strings.Join(inside[:k+1], "."); closed[object] || values[object] {
				return false
			}
		}
		name := o.Field.Name
		if slices.Contains(path, "") || closed[name] {
			return false
		}
		values[name] = true
		open = inside
	}
	return true
}
