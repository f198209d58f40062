package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
)

func (s *state) previewCommand() *cobra.Command {
	var (
		rows         int
		showOriginal bool
	)
	cmd := &cobra.Command{
		Use:   "preview CONFIG",
		Short: "Show the first rows as they would be released; nothing is written",
		Args:  oneArg("the configuration"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rows < 1 {
				return usageError{fmt.Errorf("--rows must be at least 1, got %d", rows)}
			}
			p, err := s.load(args[0])
			if err != nil {
				return err
			}
			watch := &pipeline.Progress{}
			stop, err := s.watch(watch)
			if err != nil {
				return err
			}
			view, err := filejob.NewPreview(cmd.Context(), p, rows, watch)
			stop()
			if err != nil {
				return err
			}
			return printPreview(os.Stdout, view, showOriginal)
		},
	}
	cmd.Flags().IntVarP(&rows, "rows", "n", 10,
		"how many rows; at most 100, unless the last run of this configuration has passed its gate")
	cmd.Flags().BoolVar(&showOriginal, "show-original", false,
		"beside each masked value show the original one: confidential")
	s.releaseFlags(cmd)
	return cmd
}

// printPreview prints an aligned table; masked columns are marked with a star.
func printPreview(w io.Writer, v *filejob.Preview, showOriginal bool) error {
	var header []string
	for j, name := range v.Columns {
		if v.Masked[j] {
			name += "*"
			if showOriginal {
				header = append(header, v.Columns[j]+" (original)")
			}
		}
		header = append(header, name)
	}
	table := [][]string{header}
	for i := range v.Released {
		var row []string
		for j := range v.Columns {
			if showOriginal && v.Masked[j] {
				row = append(row, v.Original[i][j])
			}
			row = append(row, v.Released[i][j])
		}
		table = append(table, row)
	}
	if err := printTable(w, table); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d rows; * masked", len(v.Released))
	if err == nil && len(v.Synthetic) > 0 {
		of := ""
		if v.Copies > 1 {
			of = fmt.Sprintf(", here in the first of %d copies", v.Copies)
		}
		_, err = fmt.Fprintf(w, "; synthetic: %s (drawn from a model%s, no value is that of its record)",
			strings.Join(v.Synthetic, ", "), of)
	}
	if err == nil && v.Rejected > 0 {
		_, err = fmt.Fprintf(w, "; %d records before the last row shown would go to quarantine", v.Rejected)
	}
	if err == nil && v.Cut != "" {
		_, err = fmt.Fprintf(w, "; no more than these are shown, since %s", v.Cut)
	}
	if err == nil {
		_, err = fmt.Fprintln(w)
	}
	return err
}

// printTable prints rows with every column padded to its widest cell. Control
// characters are shown as a dot, since data may hold terminal commands.
func printTable(w io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for j := range row {
			row[j] = strings.Map(func(r rune) rune {
				if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
					return '·'
				}
				return r
			}, row[j])
			widths[j] = max(widths[j], utf8.RuneCountInString(row[j]))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for j, cell := range row {
			if j > 0 {
				line.WriteString("  ")
			}
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
