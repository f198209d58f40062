package pipeline

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/keytest"
)

// The plan gives the chain the columns that stand in for others, in the order of the identity, and refuses
// those of another type and columns that are not masked alike.
func TestColumnsThatAreTheSame(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	w := csv.NewWriter(&text)
	_ = w.Write([]string{"id", "wage", "region", "kind"})
	for i := range 20 {
		_ = w.Write([]string{fmt.Sprint(i), fmt.Sprint(100 * i), fmt.Sprint(i + 1), fmt.Sprint(7 * i)})
	}
	w.Flush()
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	same :=
		"columns: {id: {role: identifier, same_as: region}, wage: {role: sensitive, same_as: kind}, region: {role: identifier}, kind: {role: sensitive}}\n"
	for rest, want := range map[string]string{
		"identity: [id]\n" + same + "masks: [{noise: {columns: [wage, kind], sd: 5}}]\n":         "[id] [region]",
		"identity: [region]\n" + same + "masks: [{noise: {columns: [wage, kind], sd: 5}}]\n":     "[region] [id]",
		"identity: [id, region]\n" + same + "masks: [{noise: {columns: [wage, kind], sd: 5}}]\n": "[id region] [- -]",
	} {
		pl := planFor(t, parsed(t, dir, rest), true)
		if err := pl.Settle(t.Context(), new(Progress)); err != nil {
			t.Fatal(err)
		}
		if _, err := pl.newChain(t.Context(), keytest.Key(1), new(Progress)); err != nil {
			t.Fatal(err)
		}
		name := func(list []int) (names []string) {
			for _, i := range list {
				if i < 0 {
					names = append(names, "-")
					continue
				}
				names = append(names, pl.Source.Schema().Fields[pl.Layout.Read[i].Field].Name)
			}
			return names
		}
		setup := pl.Setup(keytest.Key(1), pl.Columns)
		if got := fmt.Sprint(name(setup.Identity), name(setup.Instead)); got != want || setup.SameAs["wage"] != "kind" ||
			setup.SameAs["id"] != "region" {
			t.Errorf("%s: got %s, want %s", rest, got, want)
		}
	}
	pl := planFor(t,
		parsed(t, dir,
			"identity: [id]\n"+same+"masks: [{noise: {columns: [kind], sd: 5}}, {round: {columns: [wage], base: 5}}]\n"), true)
	if err := pl.Settle(t.Context(), new(Progress)); err != nil {
		t.Fatal(err)
	}
	if _, err := pl.BuildChain(keytest.Key(1)); err == nil ||
		!strings.Contains(err.Error(), "columns.wage.same_as: noise ([0]) changes only one") ||
		!strings.Contains(err.Error(), "p.yaml:6") {
		t.Errorf("columns that are not masked alike: %v", err)
	}
	p := parsed(t, dir, "identity: [id]\n"+same+"masks: [{noise: {columns: [wage, kind], sd: 5}}]\n")
	types := map[string]arrow.DataType{"id": arrow.PrimitiveTypes.Int64, "kind": arrow.PrimitiveTypes.Float64}
	if _, err := newPlan(p, nil, &table{fields: fieldsOf(types)}, true); err == nil ||
		!strings.Contains(err.Error(), "columns.id.same_as: must be of one type with it") {
		t.Errorf("another type: %v", err)
	}
}
