package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	"kubernetes-deployment-restart-controller/internal/values"
)

// list is the value of a flag that can be given several times, each time with one or several parts, as the controller
// reads its flags.
type list []string

// Set implements [pflag.Value].
func (l *list) Set(text string) error {
	parts, err := values.List(text)
	*l = append(*l, parts...)
	return err
}

func (*list) Type() string     { return "strings" }
func (l *list) String() string { return strings.Join(*l, ",") }

// duration is the value of a flag: a number alone counts seconds.
type duration struct{ time.Duration }

// Set implements [pflag.Value].
func (d *duration) Set(text string) (err error) {
	d.Duration, err = values.Duration(text)
	return err
}

func (*duration) Type() string { return "duration" }

// wrongFlag says which flag is wrong, and what it accepts.
func wrongFlag(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	name, value := invalid.GetFlag().Name, invalid.GetValue()
	switch invalid.GetFlag().Value.Type() {
	case "bool":
		return notAccepted(name, value, "true", "false")
	case "uint16":
		return fmt.Errorf("--%s: %.40q is not the number of a port", name, value)
	}
	return fmt.Errorf("--%s: %w", name, errors.Unwrap(invalid))
}

// validate checks the flags that all commands have.
func (s *session) validate() error {
	if _, err := clientcmd.ParseTimeout(*s.flags.Timeout); err != nil {
		return fmt.Errorf("--request-timeout: %.40q is not a duration such as 10s, or a number of seconds", *s.flags.Timeout)
	}
	if problems := validation.IsDNS1123Label(s.controllerNamespace); len(problems) > 0 {
		return fmt.Errorf("--controller-namespace: %.40q cannot be the name of a namespace", s.controllerNamespace)
	}
	return validName("halts-config-map", s.haltsConfigMap)
}

func validName(flag, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("--%s: %.40q cannot be the name of an object", flag, name)
	}
	return nil
}

// oneOf reports a value of a flag that is none of those that it accepts.
func oneOf(flag, value string, accepted ...string) error {
	if slices.Contains(accepted, value) {
		return nil
	}
	return notAccepted(flag, value, accepted...)
}

func notAccepted(flag, value string, accepted ...string) error {
	last := len(accepted) - 1
	return fmt.Errorf("--%s: %.40q is not %s or %s", flag, value, strings.Join(accepted[:last], ", "), accepted[last])
}
