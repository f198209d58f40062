package publish

import (
	"os"
	"path/filepath"
	"testing"
)

// A file has a name if the name is that very file's and its only one.
func TestHasName(t *testing.T) {
	for what, c := range map[string]struct {
		change func(name, other string) error
		want   bool
	}{
		"as it was":   {func(string, string) error { return nil }, true},
		"removed":     {func(name, _ string) error { return os.Remove(name) }, false},
		"linked to":   {func(name, other string) error { return os.Link(name, other) }, false},
		"moved away":  {func(name, other string) error { return os.Rename(name, other) }, false},
		"another one": {func(name, other string) error { return os.Rename(other+".there", name) }, false},
		"a link to itself": {func(name, other string) error { return first(os.Rename(name, other), os.Symlink(other, name)) },
			false},
	} {
		name, other := filepath.Join(t.TempDir(), "f"), filepath.Join(t.TempDir(), "g")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := first(os.WriteFile(other+".there", nil, 0o600), c.change(name, other)); err != nil {
			t.Fatal(err)
		}
		if got := hasName(name, f); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
