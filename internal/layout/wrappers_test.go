package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// A type that wraps a connector says itself what it is able to do: the abilities of the wrapped one, which it would
// have by embedding, may be more than it can keep.
func TestWrappersSayWhatTheyCan(t *testing.T) {
	wrappers, able := map[string]token.Position{}, map[string]bool{}
	eachFile(t, func(files *token.FileSet, path string, f *ast.File) {
		found, declared := wrappersOf(f)
		for name, at := range found {
			wrappers[filepath.Dir(path)+"."+name] = files.Position(at)
		}
		for _, name := range declared {
			able[filepath.Dir(path)+"."+name] = true
		}
	})
	if len(wrappers) < 6 { // an incomplete search would not detect those that say nothing
		t.Errorf("%d wrappers", len(wrappers))
	}
	for _, name := range slices.Sorted(maps.Keys(wrappers)) {
		if !able[name] {
			t.Errorf("%s: wraps a connector and has no method Abilities of its own", wrappers[name])
		}
	}
}

// wrappersOf returns the structs of a file that embed a connector, and the types with a method Abilities.
func wrappersOf(f *ast.File) (wrappers map[string]token.Pos, able []string) {
	wrappers = map[string]token.Pos{}
	ast.Inspect(f, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && n.Name.Name == "Abilities" {
				of := n.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if name, ok := of.(*ast.Ident); ok {
					able = append(able, name.Name)
				}
			}
		case *ast.TypeSpec:
			s, ok := n.Type.(*ast.StructType)
			if ok && slices.ContainsFunc(s.Fields.List, embedsConnector) {
				wrappers[n.Name.Name] = n.Pos()
			}
		}
		return true
	})
	return wrappers, able
}

func embedsConnector(f *ast.Field) bool {
	of, ok := f.Type.(*ast.SelectorExpr)
	if !ok || len(f.Names) > 0 {
		return false
	}
	from, ok := of.X.(*ast.Ident)
	return ok && from.Name == "connectors" &&
		slices.Contains([]string{"Source", "Sink", "SourceConfig", "SinkConfig", "Rearranged"}, of.Sel.Name)
}

// Wrappers are found by what they embed, as the first field or the last, and whether they say what they can.
func TestWrappersThatSayNothing(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
type first struct { connectors.Source; n int }
type last struct { n int; connectors.SinkConfig }
type held struct { src connectors.Source }
type other struct { connectors.Plan }
type source interface { connectors.Source }
func (l *last) Abilities() {}
func (f first) Other() {}
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	wrappers, able := wrappersOf(f)
	if got := slices.Sorted(maps.Keys(wrappers)); !slices.Equal(got, []string{"first", "last"}) ||
		!slices.Equal(able, []string{"last"}) {
		t.Errorf("wrappers %q, able %q", got, able)
	}
}
