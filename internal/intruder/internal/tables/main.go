// Command tables prints the tables of docs/intruder.md: the two papers' scenarios on
// simulated data, beside the papers' own figures.
//
//	go run ./internal/intruder/internal/tables -sets 200
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/internal/papers"
)

func main() {
	sets := flag.Int("sets", 200, "simulated data sets of each scenario of Trottini et al.")
	surveys := flag.Int("surveys", 10, "simulated surveys of each scenario of Fienberg et al.")
	flag.Parse()
	log.SetFlags(0)
	ctx := context.Background()
	if *sets < 2 || *surveys < 1 {
		log.Fatal("-sets must be at least 2 and -surveys at least 1")
	}
	if err := trottini(ctx, *sets); err != nil {
		log.Fatal(err)
	}
	if err := fienberg(ctx, *surveys); err != nil {
		log.Fatal(err)
	}
}

// What tables 2 and 3 of Trottini et al. (2004) print: correct links of 100 and their
// average posterior, [d.1, d.2][DATA1, DATA2][bias][noise]. NaN: no correct link.
var none = math.NaN()
var paperCounts = [2][2][3][3]int{
	{{{30, 12, 2}, {1, 1, 0}, {1, 0, 3}}, {{71, 12, 2}, {10, 9, 2}, {2, 3, 4}}},
	{{{5, 5, 1}, {3, 0, 1}, {2, 3, 0}}, {{42, 10, 2}, {10, 8, 1}, {4, 3, 1}}},
}
var paperPosteriors = [2][2][3][3]float64{
	{
		{{0.4439, 0.2663, 0.0273}, {0.0214, 0.0178, none}, {0.0152, none, 0.0142}},
		{{0.7687, 0.1823, 0.0223}, {0.2764, 0.0880, 0.0203}, {0.0373, 0.0248, 0.0217}},
	},
	{
		{{0.0153, 0.0152, 0.0133}, {0.0131, none, 0.0122}, {0.0132, 0.0131, none}},
		{{0.0196, 0.0213, 0.0196}, {0.0233, 0.0165, 0.0151}, {0.0137, 0.0151, 0.0222}},
	},
}

func trottini(ctx context.Context, sets int) error {
	for table, knowledge := range []string{"d.1", "d.2"} {
		fmt.Printf("#### Table %d, %s\n\n", table+2, knowledge)
		fmt.Println(
			"| data | bias | noise | correct, mean ± 95 % | one run, 95 % | paper | inside | posterior of a correct link | paper |")
		fmt.Println("|---|---|---|---|---|---|---|---|---|")
		for data := 1; data <= 2; data++ {
			for b := range papers.Phis {
				for c := range papers.Cs {
					if err := trottiniRow(ctx, sets, table, data, b, c); err != nil {
						return err
					}
				}
			}
		}
		fmt.Println()
	}
	return nil
}

// trottiniRow prints the row of one data set and the b-th bias and c-th noise.
func trottiniRow(ctx context.Context, sets, table, data, b, c int) error {
	amounts := [3]string{"min", "med", "max"}
	rng := rand.New(rand.NewPCG(2004, uint64(100*table+9*data+3*b+c)))
	counts := make([]float64, sets)
	var correct, posterior, weight float64
	for i := range counts {
		r, err := papers.Trottini{Data: data, Phi: papers.Phis[b], C: papers.Cs[c], Priors: table == 1}.Run(ctx, rng)
		if err != nil {
			return err
		}
		counts[i] = r.Correct
		correct += r.Correct
		posterior += r.PosteriorOfCorrect.Mean * r.Correct
		weight += r.Correct
	}
	mean := correct / float64(sets)
	var squares float64
	for _, v := range counts {
		squares += (v - mean) * (v - mean)
	}
	half := 1.96 * math.Sqrt(squares/float64(sets-1)/float64(sets))
	sort.Float64s(counts)
	low, high := counts[int(0.025*float64(sets))], counts[int(math.Ceil(0.975*float64(sets)))-1]
	paper := paperCounts[table][data-1][b][c]
	inside := "yes"
	if float64(paper) < low || float64(paper) > high {
		inside = "**no**"
	}
	paperPosterior := "–"
	if p := paperPosteriors[table][data-1][b][c]; !math.IsNaN(p) {
		paperPosterior = fmt.Sprintf("%.4f", p)
	}
	average := "–"
	if weight > 0 {
		average = fmt.Sprintf("%.4f", posterior/weight)
	}
	fmt.Printf("| DATA%d | %s | %s | %.2f ± %.2f | %g–%g | %d | %s | %s | %s |\n",
		data, amounts[b], amounts[c], mean, half, low, high, paper, inside, average, paperPosterior)
	return nil
}

type paperRow struct {
	number                int
	posterior, sd, topTen float64
}

// Tables 4.3 to 4.6 as the slides on Fienberg, Makov and Sanil print them.
var paperRanks = [4][11]paperRow{
	{{319, .017, .021, .113}, {144, .009, .003, .078}, {106, .007, .003, .066}, {41, .006, .001, .06},
		{34, .006, .001, .058}, {8, .005, .001, .051}, {3, .005, .0001, .054}, {3, .005, .001, .055}, {3, .006, .0001, .056},
		{1, .007, 0, .074}, {}},
	{{42, .045, .057, .204}, {36, .023, .021, .162}, {29, .015, .012, .177}, {26, .015, .01, .146}, {18, .015, .007, .16},
		{22, .014, .008, .145}, {6, .014, .01, .193}, {13, .01, .003, .119}, {12, .009, .004, .111}, {10, .012, .007, .176},
		{448, .005, .003, .109}},
	{{295, .018, .026, .116}, {141, .009, .004, .081}, {75, .008, .003, .073}, {46, .006, .001, .06},
		{33, .006, .001, .062}, {21, .007, .002, .067}, {13, .005, .001, .054}, {11, .005, .001, .056}, {6, .006, .002, .061},
		{2, .006, .002, .062}, {19, .005, .0001, .054}},
	{{43, .044, .068, .193}, {34, .026, .022, .179}, {34, .02, .014, .168}, {24, .014, .008, .133}, {16, .02, .012, .2},
		{15, .013, .006, .139}, {16, .014, .007, .167}, {13, .014, .006, .184}, {12, .011, .005, .139}, {4, .009, .003, .104},
		{451, .005, .003, .108}},
}

func fienberg(ctx context.Context, surveys int) error {
	scenarios := []struct {
		name        string
		bias, noise bool
	}{{"no bias, no noise", false, false}, {"noise only", false, true}, {"bias only", true, false},
		{"bias and noise", true, true}}
	for s, scenario := range scenarios {
		// The readings of what the paper leaves open, see the text around the tables.
		readings := []struct {
			name string
			run  papers.Fienberg
		}{{"θ ± 0.1732", papers.Fienberg{Noise: scenario.noise}}}
		if scenario.bias {
			readings[0].run.Bias = 0.1732
			readings = append(readings, readings[0])
			readings[1].name, readings[1].run.Bias = "θ ± 0.03", 0.03
		} else {
			readings[0].name = "ours"
		}
		ofSD := readings[0]
		ofSD.run.PriorOfSD = true
		fmt.Printf("#### Table 4.%d, %s\n\n| rank |", s+3, scenario.name)
		for _, r := range readings {
			fmt.Printf(" %s: number | posterior (SD) | ten best |", r.name)
		}
		fmt.Print(" paper: number | posterior (SD) | ten best |\n|---|---|---|---|")
		for range readings {
			fmt.Print("---|---|---|")
		}
		fmt.Println()
		means := make([][11]intruder.RankRow, len(readings)+1)
		for i, r := range append(readings, ofSD) {
			var err error
			if means[i], err = averageRanks(ctx, r.run, surveys, uint64(s)); err != nil {
				return err
			}
		}
		for j, paper := range paperRanks[s] {
			fmt.Printf("| %s |", means[0][j].Rank)
			for i := range readings {
				if m := means[i][j]; m.Number > 0 {
					fmt.Printf(" %.1f | %.3f (%.3f) | %.3f |", m.Number, m.Posterior.Mean, m.Posterior.SD, m.TopTen.Mean)
				} else {
					fmt.Print(" 0 | – | – |")
				}
			}
			if paper.number == 0 {
				fmt.Println(" – | – | – |")
			} else {
				fmt.Printf(" %d | %.3f (%.3f) | %.3f |\n", paper.number, paper.posterior, paper.sd, paper.topTen)
			}
		}
		m := means[len(readings)]
		fmt.Printf(
			"\nWith the prior read as one of the SD of θ: %.1f ranked first (posterior %.3f), %.1f beyond the tenth.\n\n",
			m[0].Number, m[0].Posterior.Mean, m[10].Number)
	}
	return nil
}

// averageRanks is the mean over simulated surveys; posteriors are means over targets.
func averageRanks(ctx context.Context, scenario papers.Fienberg, surveys int,
	stream uint64) (means [11]intruder.RankRow, err error) {
	rng := rand.New(rand.NewPCG(1997, stream))
	for range surveys {
		r, err := scenario.Run(ctx, rng)
		if err != nil {
			return means, err
		}
		for j, row := range r.Ranks {
			m := &means[j]
			m.Rank = row.Rank
			m.Number += row.Number
			m.Posterior.Mean += row.Number * row.Posterior.Mean
			m.Posterior.SD += row.Number * row.Posterior.SD
			m.TopTen.Mean += row.Number * row.TopTen.Mean
		}
	}
	for j := range means {
		if m := &means[j]; m.Number > 0 {
			m.Posterior.Mean /= m.Number
			m.Posterior.SD /= m.Number
			m.TopTen.Mean /= m.Number
			m.Number /= float64(surveys)
		}
	}
	return means, nil
}
