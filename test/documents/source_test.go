package documents

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What the source says of Events and of the log.

// eachParsed calls a function with each parsed file of a package, tests aside.
func eachParsed(t *testing.T, dir string, do func(file string, parsed *ast.File)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		do(file, parsed)
	}
}

// camelCase is how reasons of Events are written.
var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)

// eventTable returns a table of the Events of some packages. The comment of each reason begins with the type of the
// Event and says when it is sent.
func eventTable(t *testing.T, dirs []string) string {
	t.Helper()
	var rows []string
	for _, dir := range dirs {
		eachParsed(t, dir, func(file string, parsed *ast.File) {
			for name, reason := range reasonsIn(parsed) {
				if kind, when, _ := strings.Cut(reason.comment, ": "); kind == "Normal" || kind == "Warning" {
					rows = append(rows, fmt.Sprintf("`%s` | %s | %s", reason.text, kind, cell(sentence(when))))
				} else if dir == "controller/events" && camelCase.MatchString(reason.text) {
					t.Errorf("%s: the comment of %s does not say when this Event is sent", file, name)
				}
			}
		})
	}
	return table("Reason | Type | When", rows)
}

// docs/events.md would lack a reason that is anywhere else.
func TestTheReasonsOfTheControllersEventsAreInOnePackage(t *testing.T) {
	for _, path := range packagesOfTheProgram(t) {
		dir, isOurs := strings.CutPrefix(path, module+"/controller")
		if !isOurs || dir == "/events" {
			continue
		}
		eachParsed(t, "controller"+dir, func(file string, parsed *ast.File) {
			for name, reason := range reasonsIn(parsed) {
				if camelCase.MatchString(reason.text) {
					t.Errorf("%s: %s belongs in controller/events", file, name)
				}
			}
		})
	}
}

// reason is a constant, the reason of Events or of something else, with the comment on it.
type reason struct{ text, comment string }

// reasonsIn returns the reasons that a file declares, by the names of the constants. Those of a package events all are.
func reasonsIn(parsed *ast.File) map[string]reason {
	found := make(map[string]reason)
	for _, declared := range parsed.Decls {
		constants, isConstants := declared.(*ast.GenDecl)
		if !isConstants || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			spec := spec.(*ast.ValueSpec)
			if len(spec.Values) != 1 || parsed.Name.Name != "events" && !strings.HasPrefix(spec.Names[0].Name, "reason") {
				continue
			}
			text, isText := spec.Values[0].(*ast.BasicLit)
			comment := spec.Doc
			if comment == nil {
				comment = constants.Doc
			}
			if isText {
				found[spec.Names[0].Name] = reason{strings.Trim(text.Value, `"`), strings.Join(strings.Fields(comment.Text()), " ")}
			}
		}
	}
	return found
}

// logTable returns a table of what is logged at the default verbosity. What a message means is taken from the old table.
func logTable(t *testing.T, old string) string {
	t.Helper()
	meanings := make(map[string]string)
	for _, row := range regexp.MustCompile("(?m)^`([^`]+)` \\| [ a-z]+ \\|(.*)$").FindAllStringSubmatch(old, -1) {
		meanings[row[1]] = strings.TrimSpace(row[2])
	}
	found := make(map[string][]string)
	for _, path := range packagesOfTheProgram(t) {
		dir, isOurs := strings.CutPrefix(path+"/", module+"/")
		if !isOurs {
			continue
		}
		eachParsed(t, "./"+dir, func(_ string, parsed *ast.File) {
			ast.Inspect(parsed, func(node ast.Node) bool {
				if call, isCall := node.(*ast.CallExpr); isCall {
					if level, message := logged(call); message != "" {
						found[message] = append(found[message], level)
					}
				}
				return true
			})
		})
	}
	var rows []string
	for message, levels := range found {
		slices.Sort(levels)
		level := strings.Join(slices.Compact(levels), " or ")
		rows = append(rows, strings.TrimSpace(fmt.Sprintf("`%s` | %s | %s", message, level, meanings[message])))
	}
	if len(rows) < 50 {
		t.Errorf("found only %d messages", len(rows))
	}
	return table("Message | Level | Meaning", rows)
}

// levels are the methods of a logger that write at the default verbosity, with what the table calls them. Log takes the
// level from its caller.
var levels = map[string]string{"Info": "info", "Warn": "warn", "Error": "error", "Log": "varies"}

// logged returns the level and the constant text of a call of a logger, also of one that a call returns.
func logged(call *ast.CallExpr) (level, message string) {
	method, isMethod := call.Fun.(*ast.SelectorExpr)
	if made, isMade := call.Fun.(*ast.CallExpr); isMade && len(made.Args) > 0 {
		method, isMethod = made.Args[len(made.Args)-1].(*ast.SelectorExpr)
	}
	if !isMethod || levels[method.Sel.Name] == "" {
		return "", ""
	}
	if of, isName := method.X.(*ast.Ident); isName && of.Name == "http" {
		return "", ""
	}
	for _, arg := range call.Args[:min(len(call.Args), 3)] {
		if message := constant(arg); message != "" {
			return levels[method.Sel.Name], message
		}
	}
	return "", ""
}

// constant returns a text with … for its parts that are not constant, or nothing if it does not begin with a constant.
func constant(text ast.Expr) string {
	switch text := text.(type) {
	case *ast.BasicLit:
		value, _ := strconv.Unquote(text.Value)
		return value
	case *ast.BinaryExpr:
		begin, end := constant(text.X), constant(text.Y)
		if begin != "" && end == "" {
			return begin + "…"
		}
		return begin + end
	}
	return ""
}
