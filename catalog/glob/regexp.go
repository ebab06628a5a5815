package glob

import (
	"errors"
	"strings"
)

// errNotGlob says that a regular expression has no counterpart among globs.
var errNotGlob = errors.New("of regular expressions, only .*, .+ and a|b can be used")

// OfRegexp returns globs that match all names that a regular expression matches as a whole, one for each alternative.
// A dot that is not repeated counts as a dot, as it is nearly always meant.
func OfRegexp(expression string) ([]string, error) {
	expression = strings.TrimSuffix(strings.TrimPrefix(expression, "^"), "$")
	var globs []string
	for alternative := range strings.SplitSeq(expression, "|") {
		glob, err := globOf(alternative)
		if err != nil {
			return nil, err
		}
		globs = append(globs, glob)
	}
	return globs, nil
}

func globOf(expression string) (string, error) {
	var glob strings.Builder
	for rest := expression; rest != ""; {
		token := rest[:1]
		switch {
		case strings.HasPrefix(rest, ".*"), strings.HasPrefix(rest, ".+"), strings.HasPrefix(rest, `\.`), strings.HasPrefix(rest, `\-`):
			token = rest[:2]
		case !isAllowed(rune(rest[0])) || !IsLiteral(token):
			return "", errNotGlob
		}
		rest = rest[len(token):]
		if token != ".*" && token != ".+" && strings.HasPrefix(rest, "?") {
			return "", errNotGlob
		}
		switch token {
		case ".*":
			token = "*"
		case ".+":
			token = "?*"
		}
		glob.WriteString(strings.TrimPrefix(token, `\`))
	}
	usable := usableGlob(glob.String())
	return usable, Check(usable)
}

// usableGlob returns a glob that matches at least what a text matches: a glob may have no question marks between
// asterisks.
func usableGlob(text string) string {
	if first, last := strings.Index(text, "*"), strings.LastIndex(text, "*"); first >= 0 {
		text = text[:first] + strings.ReplaceAll(text[first:last], "?", "") + text[last:]
	}
	for strings.Contains(text, "**") {
		text = strings.ReplaceAll(text, "**", "*")
	}
	return text
}
