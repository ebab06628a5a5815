package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jessevdk/go-flags"
	"k8s.io/apimachinery/pkg/util/validation"

	"kubernetes-deployment-restart-controller/internal/values"
)

// duration is the value of a flag: a number alone counts seconds.
type duration struct{ time.Duration }

// UnmarshalFlag implements [flags.Unmarshaler].
func (d *duration) UnmarshalFlag(text string) (err error) {
	d.Duration, err = values.Duration(text)
	return err
}

// milliseconds is the value of a flag: a number alone counts milliseconds.
type milliseconds struct{ time.Duration }

// UnmarshalFlag implements [flags.Unmarshaler].
func (m *milliseconds) UnmarshalFlag(text string) (err error) {
	m.Duration, err = values.Milliseconds(text)
	return err
}

// list is the value of a flag that can be given several times, each time with one or several parts.
type list []string

// UnmarshalFlag implements [flags.Unmarshaler].
func (l *list) UnmarshalFlag(text string) error {
	parts, err := values.List(text)
	*l = append(*l, parts...)
	return err
}

// theirError is what the library says of a value that it cannot use, with the names of types and functions.
var theirError = regexp.MustCompile(`^invalid argument for flag .*?(--[-a-z]+)' \(expected ([^)]*)\): (?:strconv\.\w+: parsing (".*"): )?(.*)$`)

// plain returns an error of the library in words for users: the flag, its value, and what is accepted.
func plain(err *flags.Error) error {
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	found := theirError.FindStringSubmatch(text)
	if found == nil {
		return errors.New(text)
	}
	flag, kind, value, problem := found[1], found[2], found[3], found[4]
	if value == "" {
		return fmt.Errorf("%s: %s", flag, problem)
	}
	accepted := map[string]string{"bool": "true or false", "int": "a whole number", "float32": "a number"}
	return fmt.Errorf("%s: %s is not %s", flag, value, accepted[kind])
}

// namespacePattern is a pattern that [path.Match] understands, of characters that names of namespaces have.
var namespacePattern = regexp.MustCompile(`^(?:[-a-z0-9*?]|\[\^?[-a-z0-9]+\])+$`)

// characterClass is a part of such a pattern, for one of the namespaceCharacters.
var characterClass = regexp.MustCompile(`\[[^\]]*\]`)

const namespaceCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// canMatchNamespace reports whether a name or a pattern can match the name of a namespace.
func canMatchNamespace(pattern string) bool {
	_, err := path.Match(pattern, "")
	isEmpty := func(class string) bool { // such as [z-a]
		return !strings.ContainsFunc(namespaceCharacters, func(c rune) bool { matches, _ := path.Match(class, string(c)); return matches })
	}
	if slices.ContainsFunc(characterClass.FindAllString(pattern, -1), isEmpty) {
		return false
	}
	return err == nil && namespacePattern.MatchString(pattern) && !strings.HasPrefix(pattern, "-") && !strings.HasSuffix(pattern, "-") &&
		(strings.ContainsAny(pattern, "*?[") || len(pattern) <= validation.DNS1123LabelMaxLength)
}
