package objects

import "fmt"

// Answer is what an error says of a server's answer.
func Answer(status int, code string) string {
	if code == "" {
		return fmt.Sprintf("status %d", status)
	}
	return fmt.Sprintf("status %d, %s", status, code)
}

// Word lets an error's code through that is one: a name of letters.
func Word(code string) string {
	if len(code) > 60 {
		return ""
	}
	for _, r := range code {
		if (r|0x20) < 'a' || (r|0x20) > 'z' {
			return ""
		}
	}
	return code
}
