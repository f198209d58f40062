package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// placesOfReport are the points that a report verifies.
func placesOfReport(t *testing.T, path string) (places []map[string]any, gate map[string]any, warnings string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Places   []map[string]any
		Gate     map[string]any
		Warnings []string
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r.Places, r.Gate, strings.Join(r.Warnings, "\n")
}

// Points are displaced and verified alike by a run and by shards, in every format; a gate judges what is verified, and
// an area that leaves beside the point, or what is not known, does not pass.
func TestDonut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(status int, args ...string) string {
		t.Helper()
		out, err := program(t, dir, args...).CombinedOutput()
		checkStatus(t, err, status, out)
		return strings.Join(strings.Fields(string(out)), " ")
	}
	put("k", "MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n")
	r := rand.New(rand.NewPCG(3, 3))
	var table, register strings.Builder
	table.WriteString("id,lat,lon,area,income,w\n")
	register.WriteString("lat;lon;people\n")
	for i := range 600 { // two persons in each household
		if i%2 == 0 {
			k := r.IntN(4)
			lat, lon := 48.1+0.05*float64(k)+0.01*r.NormFloat64(), 16.2+0.07*float64(k)+0.015*r.NormFloat64()
			fmt.Fprintf(&register, "%.5f;%.5f;3\n", lat, lon)
			fmt.Fprintf(&table, "%d,%.5f,%.5f,a%d,%d,%d\n%d,%.5f,%.5f,a%d,%d,%d\n", i, lat, lon, k, 1000+r.IntN(5000), 2+i%3,
				i+1, lat, lon, k, 1000+r.IntN(5000), 2+i%3)
		}
	}
	put("in.csv", table.String())
	if err := os.Mkdir(filepath.Join(dir, "parts"), 0o700); err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(table.String(), "\n")
	for i := range 3 {
		put(fmt.Sprintf("parts/%d.csv", i), rows[0]+strings.Join(rows[1+200*i:201+200*i], ""))
	}
	put("register.csv", register.String())
	config := func(source, sink, mask, gate string) {
		if !strings.Contains(gate, "assess: {") {
			gate = "assess: {}\n" + gate
		}
		gate = strings.Replace(strings.Replace(gate, "assess: {", "assess: {replicates: 10, ", 1), "10, }", "10}", 1)
		put("p.yaml", "version: 1\nkey: {file: k}\nsource: {"+source+"}\nsink: {"+sink+
			"}\ncolumns: {id: {role: identifier}, lat: {role: sensitive}, lon: {role: sensitive}, area: {role: identifier}, income: {role: sensitive}, w: {role: identifier}}\nidentity: [id]\nmasks: ["+
			mask+", {noise: {columns: [income], sd: 500}}]\n"+gate+"report: {json: r.json}\n")
	}
	const byFile = "{donut: {columns: [lat, lon], unit: degrees, least: 100, k_least: 15, k_most: 60, file: register.csv}}"
	const types = ", types: {id: string, lat: float64, lon: float64}"
	var first string
	var verified []map[string]any
	for _, format := range []string{"csv", "parquet", "jsonl"} {
		source := "csv: {path: in.csv" + types + "}"
		if format != "csv" {
			put("p.yaml", "version: 1\nkey: {file: k}\nsource: {"+source+"}\nsink: {"+format+": {path: in."+format+
				"}}\ncolumns: {id: {role: other}, lat: {role: other}, lon: {role: other}, area: {role: other}, income: {role: other}, w: {role: other}}\nmasks: []\n")
			do(0, "run", "p.yaml")
			source = format + ": {path: in." + format + map[bool]string{true: types}[format == "jsonl"] + "}"
		}
		for _, shards := range []int{0, 1, 3} {
			if shards > 1 && format != "csv" {
				continue
			}
			out := filepath.Join(dir, "out-"+format)
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
			from := source
			if shards > 1 {
				from = strings.Replace(source, "in.csv", "parts/", 1)
			}
			config(from, "csv: {path: out-"+format+map[bool]string{true: "/"}[shards > 0]+"}", byFile,
				"gate: {rules: [{min_place_rmse: 100}, {min_spatial_k: 3}]}\n")
			var text string
			if shards > 0 {
				do(0, "shard", "plan", "p.yaml", "--shards", fmt.Sprint(shards), "--out", "plan.json")
				for i := range shards {
					do(0, "shard", "run", "plan.json", "--shard", fmt.Sprint(i), "--state",
						fmt.Sprintf("states-%s-%d/%d.state", format, shards, i))
				}
				do(0, "shard", "commit", "plan.json", "--states", fmt.Sprintf("states-%s-%d", format, shards))
				files, err := filepath.Glob(filepath.Join(out, "*.csv"))
				if err != nil || len(files) == 0 {
					t.Fatalf("shards leave %v, %v", files, err)
				}
				slices.Sort(files)
				for i, file := range files {
					part, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					if i > 0 {
						_, rest, _ := strings.Cut(string(part), "\n")
						part = []byte(rest)
					}
					text += string(part)
				}
			} else {
				do(0, "run", "p.yaml")
				data, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				text = string(data)
			}
			places, _, _ := placesOfReport(t, filepath.Join(dir, "r.json"))
			if len(places) != 1 || places[0]["records"] != 600.0 || places[0]["spatial_k"] == nil ||
				places[0]["candidates"] == nil {
				t.Fatalf("%s: verified are %v", format, places)
			}
			if first == "" {
				first, verified = text, places
			}
			delete(places[0], "rmse_record") // by draws of its own
			if text != first || !reflect.DeepEqual(places, verified) && shards == 0 {
				t.Errorf("%s, %d shards: another release or verification than of csv: %v, want %v", format, shards, places,
					verified)
			}
			if got, want := fmt.Sprint(places[0]["lesser"], places[0]["rmse_released"]), fmt.Sprint(verified[0]["lesser"],
				verified[0]["rmse_released"]); got != want {
				t.Errorf("%s, %d shards: verified %s, want %s", format, shards, got, want)
			}
		}
	}
	// Members of a household leave at one place.
	lines := strings.Split(strings.TrimSpace(first), "\n")
	place := func(line string) string { return strings.Join(strings.Split(line, ",")[:2], ",") }
	for i := 1; i < len(lines); i += 2 {
		if place(lines[i]) != place(lines[i+1]) {
			t.Fatalf("members of household %d leave at two places", i/2)
		}
	}
	const csv = "csv: {path: in.csv" + types + "}"
	for name, c := range map[string]struct {
		mask, gate, want string
		status           int
		columns          string
	}{
		"by records": {strings.Replace(byFile, "file: register.csv", "records: true, weight: w", 1),
			"gate: {rules: [{min_spatial_k: 2}]}\n", "", 0, ""},
		"k beyond": {byFile, "gate: {rules: [{min_spatial_k: 500}]}\n",
			"where the masks could have moved it from, at least 500", exitRefused, ""},
		"metres beyond": {byFile, "gate: {rules: [{min_place_rmse: 50000}]}\n", "from the true place at least 50000",
			exitRefused, ""},
		"without people": {"{donut: {columns: [lat, lon], unit: degrees, least: 100, most: 500}}",
			"gate: {rules: [{min_spatial_k: 5}]}\n", "min_spatial_k: needs the population about the points", exitUsage, ""},
		"degrees judged": {byFile, "gate: {rules: [{column: lon, min_rmse: 0.001}]}\n",
			"must not judge the degrees of a displaced coordinate: use min_place_rmse", exitUsage, ""},
		"an area beside": {byFile, "gate: {rules: [{min_spatial_k: 2}]}\n", "area tell of the place", exitRefused,
			"area: {role: identifier}>area: {role: other}"},
		"another order": {strings.Replace(byFile, "[lat, lon]", "[lon, lat]", 1), "", "seem to be in the other order",
			exitUsage, ""},
		"noise behind": {byFile + ", {noise: {columns: [lat], sd: 1}}", "",
			"must be changed by no other mask, except round behind it", exitUsage, ""},
		"no such file": {strings.Replace(byFile, "register", "nothing", 1), "", "file: does not exist", exitUsage, ""},
		"no such weight": {strings.Replace(byFile, "file: register.csv", "records: true, weight: v", 1), "",
			"donut.weight: must be one of the listed columns", exitUsage, ""},
		"rounded, no rule": {"{round: {columns: [lat, lon], base: 0.01}}", "gate: {rules: [{min_place_rmse: 100}]}\n",
			"needs a point that is verified", exitUsage, ""},
		"rounded": {"{round: {columns: [lat, lon], base: 0.01}}",
			"assess: {places: [{columns: [lat, lon], unit: degrees, file: register.csv}]}\ngate: {rules: [{min_place_rmse: 100}, {min_spatial_k: 1000}]}\n", "smallest spatial k", exitRefused, ""},
		"too wide": {strings.Replace(byFile, "least: 100", "least: 100, most: 120", 1), "", "too few people around",
			exitQuarantined, ""},
	} {
		config(csv, "csv: {path: other.csv}", c.mask, c.gate)
		if from, to, ok := strings.Cut(c.columns, ">"); ok {
			text, err := os.ReadFile(filepath.Join(dir, "p.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			put("p.yaml", strings.Replace(string(text), from, to, 1))
		}
		if c.status == exitQuarantined {
			c.status = exitRefused // too many
		}
		if out := do(c.status, "run", "p.yaml"); !strings.Contains(out, c.want) {
			t.Errorf("%s: does not say %q: %s", name, c.want, out)
		}
	}
	// A grid of 0.01 degrees: the mean square is that of the distances to the nearest point of the grid.
	config(csv, "csv: {path: other.csv}", "{round: {columns: [lat, lon], base: 0.01}}",
		"assess: {places: [{columns: [lat, lon], unit: degrees}]}\n")
	do(0, "run", "p.yaml")
	places, _, _ := placesOfReport(t, filepath.Join(dir, "r.json"))
	square := 0.0
	for _, line := range strings.Split(strings.TrimSpace(table.String()), "\n")[1:] {
		var id int
		var lat, lon float64
		if _, err := fmt.Sscanf(line, "%d,%f,%f", &id, &lat, &lon); err != nil {
			t.Fatal(err)
		}
		dy, dx := (lat-math.RoundToEven(lat*100)/100)*111195.08,
			(lon-math.RoundToEven(lon*100)/100)*111195.08*math.Cos(lat*math.Pi/180)
		square += (dx*dx + dy*dy) / 600
	}
	if got := places[0]["rmse_released"].(float64); math.Abs(got/math.Sqrt(square)-1) > 1e-3 ||
		places[0]["spatial_k"] != nil {
		t.Errorf("a grid: %v, want ±%v", places[0], math.Sqrt(square))
	}
	// Nothing that is read only once has people of its own records, and no shard.
	config(csv, "csv: {path: out/}", strings.Replace(byFile, "file: register.csv", "records: true", 1), "")
	if out := do(exitUsage, "shard", "plan", "p.yaml", "--shards", "2", "--out", "plan.json"); !strings.Contains(out,
		"takes the places of all records first") {
		t.Errorf("shards: %s", out)
	}
	config("csv: {path: \"-\"}", "csv: {path: \"-\"}", strings.Replace(byFile, "file: register.csv", "records: true", 1),
		"")
	if out := do(exitUsage, "validate", "p.yaml"); !strings.Contains(out, "it takes the places of all records first") {
		t.Errorf("standard input: %s", out)
	}
}
