package filejob

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// A noisy number is judged beside a code that is another one for each record: by the characters that it shares with
// others.
func TestCodesTellNumbersByTheirCharacters(t *testing.T) {
	g := rand.New(rand.NewPCG(29, 11))
	var in strings.Builder
	in.WriteString("wage,case\n")
	for range 2000 {
		place := g.IntN(3)
		fmt.Fprintf(&in, "%d,CASE-2024-%sW-%06d\n", 1000*place+g.IntN(5), string("NSE"[place]), g.IntN(1_000_000))
	}
	for column, told := range map[string]bool{"case: {role: other}": true, "case: {role: identifier}": false} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "in.csv"), []byte(in.String()))
		r := codedRun(t, dir, "csv: {path: "+dir+"/in.csv}", "csv: {path: "+dir+"/out.csv}",
			"columns: {wage: {role: sensitive}, "+column+"}\n", " [{noise: {columns: [wage], sd: 800}}]", "")
		at := slices.IndexFunc(r.Columns, func(c assess.ColumnMeasures) bool { return c.Name == "wage" })
		found := false
		for _, k := range r.Columns[at].Risk {
			if k.Knowledge == assess.KnowledgeRecord && k.Target == assess.TargetTypical {
				found = float64(k.RMSE) < 10 && slices.Equal(k.Tells, []string{"case"})
			}
		}
		if found != told {
			t.Errorf("%s: told by the case %v: %+v", column, found, r.Columns[at].Risk)
		}
	}
}
