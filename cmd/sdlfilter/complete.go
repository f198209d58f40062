package main

import "github.com/spf13/cobra"

// flagWords are the words that flags take, which a shell completes.
var flagWords = map[string][]string{
	"distance":  {"standardised", "mahalanobis", "gower", "ranks"},
	"knowledge": {"d1", "d2"},
	"format":    {"json", "avro", "protobuf"},
	"estimator": {"approx", "exact"},
	"count":     {"snooper", "released"},
}

// completeWords lets a shell complete the flags of a command that take words.
func completeWords(cmd *cobra.Command) {
	for name, words := range flagWords {
		if cmd.Flag(name) == nil {
			continue
		}
		// It fails for a flag that is not there, or is registered twice.
		if err := cmd.RegisterFlagCompletionFunc(name,
			cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic("sdlfilter: " + err.Error())
		}
	}
}
