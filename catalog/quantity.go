package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// The API server decodes the pod templates of its own kinds before it stores them. Nobody does so with the template of
// a custom resource, or with that in a ControllerRevision, and to decode a quantity such as 1e-2000000000 takes all
// memory.

// quantityFields are the fields of a pod template that hold a quantity, or a map of quantities.
var quantityFields = map[string]bool{"limits": true, "requests": true, "overhead": true, "sizeLimit": true, "divisor": true}

const (
	// longestQuantity is how many characters a quantity may have.
	longestQuantity = 64
	// deepestTemplate is how deeply JSON may be nested in a pod template.
	deepestTemplate = 100
)

var (
	// hugeExponent is in quantities that are refused.
	hugeExponent = regexp.MustCompile(`[eE][-+]?[0-9]{4}`)
	// suspicious is in all JSON that has a quantity which is refused, and in few others.
	suspicious = regexp.MustCompile(hugeExponent.String() + `|[0-9.]{50}|\\u`)
)

var errNested = errors.New("it is nested too deeply")

// CheckQuantities returns an error if an encoded pod template, or an object that has one, cannot be decoded at a low
// cost, because it has a quantity that no resource can have. The error quotes no content.
func CheckQuantities(encoded []byte) error {
	if !suspicious.Match(encoded) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	return checkQuantities(decoder, "", deepestTemplate)
}

// checkQuantities checks the next value, which is a quantity or has quantities if it is in a field of that name. It
// reads token by token, so that it sees fields that are there twice.
func checkQuantities(decoder *json.Decoder, field string, depth int) error {
	token, err := decoder.Token()
	switch {
	case err != nil:
		return errors.New("it is no JSON")
	case depth == 0:
		return errNested
	}
	switch value := token.(type) {
	case json.Delim:
		return checkMembers(decoder, value, field, depth-1)
	case string:
		return checkQuantity(value, field)
	case json.Number:
		return checkQuantity(value.String(), field)
	}
	return nil
}

// checkMembers checks the members of an object or array up to its end.
func checkMembers(decoder *json.Decoder, begin json.Delim, field string, depth int) error {
	for decoder.More() {
		of := field
		if begin == '{' {
			name, err := decoder.Token()
			if err != nil {
				return errors.New("it is no JSON")
			}
			if text, _ := name.(string); quantityFields[text] {
				of = text
			}
		}
		if err := checkQuantities(decoder, of, depth); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return errors.New("it is no JSON")
	}
	return nil
}

func checkQuantity(text, field string) error {
	if field != "" && (len(text) > longestQuantity || hugeExponent.MatchString(text)) {
		return fmt.Errorf("its field %q has a quantity that is too long, or too large or small", field)
	}
	return nil
}
