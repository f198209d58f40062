package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	crand "crypto/rand"

	"github.com/parquet-go/parquet-go"
)

// earner is a record of the map's data.
type earner struct {
	Wage float64 `parquet:"wage"`
}

// respondent is a record of the attack's data: four numeric keys, four categorical.
type respondent struct {
	A          float64 `parquet:"a"`
	B          float64 `parquet:"b"`
	C          float64 `parquet:"c"`
	D          float64 `parquet:"d"`
	Sex        int32   `parquet:"sex"`
	Age        int32   `parquet:"age"`
	Occupation int32   `parquet:"occupation"`
	Area       int32   `parquet:"area"`
}

// noiseOfRelease is the SD of the noise in the release that is attacked, in SDs of
// its keys.
const noiseOfRelease = 0.2

// rowGroup bounds what a writer holds.
const rowGroup = 100_000

func mapFile(dir string, records int, ext string) string {
	return filepath.Join(dir, fmt.Sprintf("map%d.%s", records, ext))
}

func attackFile(dir, which string, records int) string {
	return filepath.Join(dir, fmt.Sprintf("attack%d.%s.parquet", records, which))
}

// makeMapData writes wages of as many records as asked, of half and of twice as
// many, as Parquet, and the first as CSV, too.
func makeMapData(_ context.Context, args []string, _ io.Writer) error {
	flags := flag.NewFlagSet("data-map", flag.ContinueOnError)
	dir := flags.String("dir", "", "where the data go")
	records := flags.Int("records", 100_000, "records")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := makeKey(*dir); err != nil {
		return err
	}
	for _, n := range []int{*records / 2, *records, *records * 2} {
		wage := wages()
		if err := writeParquet(mapFile(*dir, n, "parquet"), n, func(int) earner { return earner{wage()} }); err != nil {
			return err
		}
	}
	wage := wages()
	return write(mapFile(*dir, *records, "csv"), func(w *bufio.Writer) error {
		line := []byte("wage\n")
		for range *records {
			if _, err := w.Write(line); err != nil {
				return err
			}
			line = append(strconv.AppendFloat(line[:0], wage(), 'f', 2, 64), '\n')
		}
		_, err := w.Write(line)
		return err
	})
}

// wages draws from a log-normal distribution, in cents, the same whenever it starts.
func wages() func() float64 {
	random := rand.New(rand.NewPCG(5, 1))
	return func() float64 { return math.Round(100*math.Exp(6.2+0.7*random.NormFloat64())) / 100 }
}

// makeAttackData writes an original and its release with noise.
func makeAttackData(_ context.Context, args []string, _ io.Writer) error {
	flags := flag.NewFlagSet("data-attack", flag.ContinueOnError)
	dir := flags.String("dir", "", "where the data go")
	records := flags.Int("released", 1_000_000, "records")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, which := range []string{"original", "released"} {
		random, noise := rand.New(rand.NewPCG(6, 1)), rand.New(rand.NewPCG(6, 2))
		key := func() float64 {
			v := 10 + random.NormFloat64()
			if which == "released" {
				v += noiseOfRelease * noise.NormFloat64()
			}
			return v
		}
		class := func(n float64) int32 { // squared: frequencies of all sizes
			u := random.Float64()
			return int32(u * u * n)
		}
		err := writeParquet(attackFile(*dir, which, *records), *records, func(int) respondent {
			return respondent{key(), key(), key(), key(), class(2), class(100), class(60), class(100)}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func writeParquet[T any](path string, records int, record func(i int) T) error {
	return write(path, func(w *bufio.Writer) error {
		p := parquet.NewGenericWriter[T](w, parquet.MaxRowsPerRowGroup(rowGroup), parquet.Compression(&parquet.Zstd))
		batch := make([]T, 0, 1000)
		for i := range records {
			batch = append(batch, record(i))
			if len(batch) == cap(batch) || i == records-1 {
				if _, err := p.Write(batch); err != nil {
					return err
				}
				batch = batch[:0]
			}
		}
		return p.Close()
	})
}

// write makes a file that has its name only once it is whole.
func write(path string, content func(w *bufio.Writer) error) error {
	part := path + ".part"
	f, err := os.Create(part)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<16)
	if err := content(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// makeKey makes a key where there is none.
func makeKey(dir string) error {
	path := filepath.Join(dir, "bench.key")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	key := make([]byte, 32)
	if _, err := crand.Read(key); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600)
}
