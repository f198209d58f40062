// Package golden gives tests reference values: those in the repository, which an
// independent script makes of made-up data (ReadReference), and those of the field's
// reference data sets, which lie beside it, in ../shared, and may not be copied into it.
// A test that asks for one of the latter is skipped where the folder is not there; what
// it tests is tested with the former too.
package golden

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Path is the path of a file or folder in ../shared, whose names are given from
// there: "golden", "f03_francdat.csv".
func Path(tb testing.TB, name ...string) string {
	tb.Helper()
	root, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(root) == root {
			tb.Fatal("no go.mod above the test")
		}
		root = filepath.Dir(root)
	}
	path := filepath.Join(append([]string{root, "..", "shared"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("no %s beside the repository", filepath.Join(name...))
	}
	return path
}

// Columns reads a CSV file of numbers, by column in the order of its header. An empty field and NA
// are NaN, TRUE and FALSE 1 and 0; any other text fails the test.
func Columns(tb testing.TB, name ...string) (names []string, columns [][]float64) {
	tb.Helper()
	file, err := os.Open(Path(tb, name...))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	names, columns = rows[0], make([][]float64, len(rows[0]))
	for _, row := range rows[1:] {
		for j, text := range row {
			v := 0.0
			switch text {
			case "", "NA":
				v = math.NaN()
			case "TRUE":
				v = 1
			case "FALSE":
			default:
				if v, err = strconv.ParseFloat(text, 64); err != nil {
					tb.Fatal(err)
				}
			}
			columns[j] = append(columns[j], v)
		}
	}
	return names, columns
}

// JSON reads a file into a value.
func JSON(tb testing.TB, into any, name ...string) {
	tb.Helper()
	text, err := os.ReadFile(Path(tb, name...))
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		tb.Fatal(err)
	}
}
