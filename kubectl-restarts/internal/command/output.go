package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"kubernetes-deployment-restart-controller/internal/brief"
)

// outputFlags choose the form of the result.
type outputFlags struct {
	format    string
	formats   []string // that the command has, besides the usual one
	noHeaders bool
}

// add adds the flags of a command that prints a table.
func (f *outputFlags) add(command *cobra.Command) {
	f.addFormats(command, "json", "yaml", "wide")
	command.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Leave out the headers of the table")
}

// addStructured adds the flag of a command that prints a text.
func (f *outputFlags) addStructured(command *cobra.Command) { f.addFormats(command, "json", "yaml") }

func (f *outputFlags) addFormats(command *cobra.Command, formats ...string) {
	f.formats = formats
	command.Flags().StringVarP(&f.format, "output", "o", "", "Output format: "+strings.Join(formats, ", ")+"; a text for people without it")
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

func (f *outputFlags) validate() error {
	if f.format == "" {
		return nil
	}
	return oneOf("output", f.format, f.formats...)
}

func (f *outputFlags) isStructured() bool { return f.format == "json" || f.format == "yaml" }

func (f *outputFlags) table() printers.PrintOptions {
	return printers.PrintOptions{NoHeaders: f.noHeaders, Wide: f.format == "wide"}
}

// print writes a value as JSON or YAML. Characters that a terminal might act on are escaped.
func (f *outputFlags) print(w io.Writer, value any) error {
	encoded, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	visible := brief.JSON(encoded)
	if f.format == "yaml" && len(visible) == len(encoded) { // otherwise JSON, which is YAML, has escapes
		if encoded, err = yaml.JSONToYAML(encoded); err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
	} else {
		encoded = visible
		encoded = append(encoded, '\n')
	}
	_, err = w.Write(encoded)
	return err
}
