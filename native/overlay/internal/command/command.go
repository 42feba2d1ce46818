// Package command is the command line of seganet-overlay: one file a command, each with its flags, help and example.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"seganet.internal/overlay/internal/version"
)

// Exit codes.
const (
	exitOK            = 0
	exitFailure       = 1
	exitUsage         = 2
	exitConfiguration = 78 // EX_CONFIG of sysexits.h
)

// Command is one command of the program.
type Command struct {
	Name    string // one word, or two: such a command comes before the one of its first word
	Summary string // one line
	Example string // a line that a user can copy
	// Run parses the arguments with its own flags, by parse, and runs until it is done or ctx ends.
	Run func(ctx context.Context, args []string, out io.Writer) error
}

// all returns every command in the order of the help.
func all() []Command {
	return append(append(serviceCommands(), nodeCommands()...), Command{"version", "prints the version of this program", "seganet-overlay version", runVersion})
}

func runVersion(_ context.Context, args []string, out io.Writer) error {
	f := flags("version", out)
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "seganet-overlay", version.String(), runtime.GOOS+"/"+runtime.GOARCH)
	return err
}

// Main runs the program and returns its exit code.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return run(ctx, args, os.Stdout, os.Stderr)
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	slog.SetDefault(slog.New(slog.NewTextHandler(errs, nil)))
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" || args[0] == "help" {
		help(out)
		if len(args) == 0 {
			return exitUsage
		}
		return exitOK
	}
	if args[0] == "--version" {
		args[0] = "version"
	}
	for _, c := range all() {
		words := strings.Fields(c.Name)
		if len(args) < len(words) || !slices.Equal(args[:len(words)], words) {
			continue
		}
		err := c.Run(ctx, args[len(words):], out)
		if err != nil && !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(errs, "seganet-overlay %s: %v\n", c.Name, err)
		}
		return code(err)
	}
	fmt.Fprintf(errs, "seganet-overlay: there is no command %q. Run: seganet-overlay --help\n", args[0])
	return exitUsage
}

type usageError struct{ error }
type configError struct{ error }

// usage makes an error that ends the program with code 2.
func usage(format string, a ...any) error { return usageError{fmt.Errorf(format, a...)} }

// wrongConfig makes an error that ends the program with code 78.
func wrongConfig(err error) error {
	if err == nil {
		return nil
	}
	return configError{err}
}

func code(err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usageError{}):
		return exitUsage
	case errors.As(err, &configError{}):
		return exitConfiguration
	}
	return exitFailure
}

// flags returns a set that prints the command's help to out.
func flags(name string, out io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard) // parse prints the help or returns the error
	f.Usage = func() {}
	return f
}

// parse reads the arguments. With --help it prints the help and returns flag.ErrHelp. At most max arguments may follow
// the flags.
func parse(f *flag.FlagSet, args []string, max int, out io.Writer) error {
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		for _, c := range all() {
			if c.Name == f.Name() {
				fmt.Fprintf(out, "seganet-overlay %s: %s\n\nExample:\n  %s\n\nOptions:\n", c.Name, c.Summary, strings.ReplaceAll(c.Example, "\n", "\n  "))
			}
		}
		f.SetOutput(out)
		f.PrintDefaults()
		return err
	}
	if err != nil {
		return usage("%v. Run: seganet-overlay %s --help", err, f.Name())
	}
	if f.NArg() > max {
		return usage("the argument %q is one too many. Options come before arguments. Run: seganet-overlay %s --help", f.Arg(max), f.Name())
	}
	return nil
}

func help(out io.Writer) {
	fmt.Fprint(out, "seganet-overlay connects gateways and devices by name, encrypted end to end.\n\nCommands:\n")
	for _, c := range all() {
		fmt.Fprintf(out, "  %-12s %s\n", c.Name, c.Summary)
	}
	fmt.Fprint(out, "\nEach command explains itself: seganet-overlay <command> --help\n")
}

// untilEOFFlag adds --until-eof.
func untilEOFFlag(f *flag.FlagSet) *bool {
	return f.Bool("until-eof", false, "end when the standard input ends, as it does when the process that started this one is killed. Signals of a terminal or a service manager, which go to both, are left to that process")
}

// untilEOF returns a context that ends with in and not with ctx, which ends by signals.
func untilEOF(ctx context.Context, in io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in)
	}()
	return ctx, cancel
}

// stateFlag adds --state.
func stateFlag(f *flag.FlagSet) *string {
	return f.String("state", defaultState(), "`folder` of keys, certificates and the database")
}

func defaultState() string {
	if os.Geteuid() == 0 {
		return "/var/lib/seganet-overlay"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "seganet-overlay")
	}
	if dir := os.Getenv("LOCALAPPDATA"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "seganet-overlay")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "seganet-overlay"
	}
	return filepath.Join(home, ".local", "state", "seganet-overlay")
}
