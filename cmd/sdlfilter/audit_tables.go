package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
)

func (s *state) auditTablesCommand() *cobra.Command {
	var table tabling.Foreign
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit-tables CONFIG --table FILE",
		Short: "Judge published tables that any tool made: what can be inferred of the cells held back",
		Long: `Reads published tables that any tool made of the same records, and computes what
can be inferred of the cells that they hold back, over all linked tables at once. The
configuration is one of sdlfilter tables: records, hierarchies and rules. FILE is CSV
with a column for each variable, value, and table where there are several, or
SDMX-CSV 2.0, with OBS_VALUE and TABLE, or .jj, as report.jj has it with the statuses
that another tool has given. A cell is held back if its value is empty or one of the marks
c x s . : - .. and those of --held-back, or if it is not there; any other text is an error.
Exit status 4: an unsafe cell can be computed, or inferred more closely than its rule
allows. What is printed names unsafe cells and is confidential. Nothing is written.`,
		Args: oneArg("the configuration"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if table.Path == "" {
				return usageError{errors.New("--table must name the published tables")}
			}
			t, err := s.loadTables(args[0])
			if err != nil {
				return err
			}
			rep, err := tabling.Audit(cmd.Context(), t, table, pipeline.Options{Version: version(), Log: s.logger()})
			if err != nil {
				return err
			}
			if rep.Withheld != "" {
				s.status = exitRefused
			}
			if asJSON {
				out := json.NewEncoder(os.Stdout)
				out.SetIndent("", "  ")
				return out.Encode(rep)
			}
			switch {
			case !s.quiet:
				printAudit(rep)
			case rep.Withheld != "":
				sayWithheld(rep.Withheld)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&table.Path, "table", "", "the published tables, CSV, SDMX-CSV or JJ")
	cmd.Flags().StringArrayVar(&table.HeldBack, "held-back", nil,
		"a further mark of a cell that is held back, in the place of its value; can be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the report as JSON on stdout")
	s.configFlags(cmd)
	return cmd
}

// printAudit says what was found, with the codes of cells and no value.
func printAudit(rep *tabling.Report) {
	for _, t := range rep.Tables {
		fmt.Printf("%s: %d cells, %d published, %d unsafe, %d others held back\n", t.Name, t.Cells, t.Published, t.Primary,
			t.Secondary)
		for _, l := range []struct {
			words string
			cells []string
		}{{"can be computed", t.Disclosed}, {"inferred too closely", t.Narrow},
			{"inferred too closely by a respondent", t.Respondent}} {
			for _, cell := range l.cells {
				fmt.Printf("  %s: %s\n", l.words, cell)
			}
		}
	}
	if rep.Withheld == "" {
		fmt.Println("Safe: every unsafe cell is protected as its rule asks")
	} else {
		fmt.Printf("Unsafe: %s\n", rep.Withheld)
	}
}
