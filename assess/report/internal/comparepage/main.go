// Command comparepage checks that every number that a page shows is the one in the
// JSON: comparepage PAGE JSON. The page may have been saved by a browser.
package main

import (
	"fmt"
	"os"

	"github.com/sdlfilter/sdlfilter/assess/report/internal/pagecheck"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: comparepage PAGE JSON")
		os.Exit(2)
	}
	if err := compare(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "comparepage:", err)
		os.Exit(1)
	}
}

func compare(page, text string) error {
	dom, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	document, err := os.ReadFile(text)
	if err != nil {
		return err
	}
	seen, problems, err := pagecheck.Compare(dom, document, false)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, p)
	}
	if len(problems) > 0 || seen == 0 {
		return fmt.Errorf("%s: %d of %d numbers differ from %s", page, len(problems), seen, text)
	}
	fmt.Printf("%d numbers equal\n", seen)
	return nil
}
