// pion/sctp as a peer for the exercises of docs/interop.md, with the options and results of peers/agent.c.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"
)

// largest is the size of the largest message, LARGEST in workload.h.
const largest = 1 << 20

// Exit codes of workload.h.
const (
	exitOK         = 0
	exitWrongBytes = 1
	exitUsage      = 2
	exitNetwork    = 3
	exitUnclean    = 4
)

func main() {
	o, err := parseOptions()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	time.AfterFunc(time.Duration(o.seconds)*time.Second, func() {
		fmt.Fprintln(os.Stderr, "time is up")
		os.Exit(exitNetwork)
	})
	run := runServer
	if o.client {
		run = runClient
	}
	code, err := run(&o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func config(o *options, conn net.Conn) sctp.Config {
	loggers := logging.NewDefaultLoggerFactory()
	loggers.Writer = os.Stderr
	return sctp.Config{
		NetConn: conn, LoggerFactory: loggers, MaxReceiveBufferSize: 4 << 20, MaxMessageSize: largest,
		RTOMax: float64(o.rtoMax),
	}
}

// setReliability gives a stream what "full", "rtx:N" or "lifetime:MS" says.
func setReliability(stream *sctp.Stream, unordered bool, reliability string) error {
	name, value, limited := strings.Cut(reliability, ":")
	if !limited {
		stream.SetReliabilityParams(unordered, sctp.ReliabilityTypeReliable, 0)
		return nil
	}
	number, err := strconv.Atoi(value)
	if err != nil {
		return err
	}
	kind := map[string]byte{"rtx": sctp.ReliabilityTypeRexmit, "lifetime": sctp.ReliabilityTypeTimed}[name]
	stream.SetReliabilityParams(unordered, kind, uint32(number))
	return nil
}

// isClean tells whether an error of reading is that of an association which was shut down.
func isClean(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)
}

func cleanOrNot(clean bool) string {
	if clean {
		return "clean"
	}
	return "unclean"
}

// settle waits until all that was sent is acknowledged, for which pion itself does not wait.
func settle(a *sctp.Association, limit context.Context) {
	for a.BufferedAmount() > 0 && limit.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// shutDown ends an association.
func shutDown(a *sctp.Association, o *options) error {
	limit, cancel := context.WithTimeout(context.Background(), time.Duration(o.seconds)*time.Second)
	defer cancel()
	settle(a, limit)
	return a.Shutdown(limit)
}
