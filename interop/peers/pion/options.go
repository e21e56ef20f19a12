package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// options are the words of command of peers/options.h; those that pion cannot follow are read and not used.
type options struct {
	client, unordered                             bool
	to, reliability, end                          string
	sizes                                         []int
	endAfter, localUDP, remoteUDP, count, streams int
	pace, resetBefore, rtoMax, seconds            int
}

func parseOptions() (options, error) {
	var o options
	var client, unordered, ignored int
	var sizes, ignoredText string
	flag.IntVar(&client, "client", 0, "")
	flag.IntVar(&unordered, "unordered", 0, "")
	flag.StringVar(&o.to, "to", "127.0.0.1", "")
	flag.StringVar(&o.reliability, "reliability", "full", "")
	flag.StringVar(&o.end, "end", "", "")
	flag.StringVar(&sizes, "sizes", "100", "")
	flag.IntVar(&o.endAfter, "end-after", 0, "")
	flag.IntVar(&o.localUDP, "local-udp", 0, "")
	flag.IntVar(&o.remoteUDP, "remote-udp", 0, "")
	flag.IntVar(&o.count, "count", 1, "")
	flag.IntVar(&o.streams, "streams", 4, "")
	flag.IntVar(&o.pace, "pace", 0, "")
	flag.IntVar(&o.resetBefore, "reset-before", 0, "")
	flag.IntVar(&o.rtoMax, "rto-max", 60000, "")
	flag.IntVar(&o.seconds, "seconds", 60, "")
	for _, name := range []string{"addresses", "asconf"} {
		flag.StringVar(&ignoredText, name, "", "")
	}
	for _, name := range []string{"port", "local-port", "interleaving", "associations", "unbound", "rto-min",
		"rto-initial", "heartbeat", "path-retrans", "ask-for-reset", "reset-association", "add-before", "add-streams",
		"initial-streams"} {
		flag.IntVar(&ignored, name, 0, "")
	}
	flag.Parse()
	o.client, o.unordered = client != 0, unordered != 0
	for _, size := range strings.Split(sizes, ",") {
		number, err := strconv.Atoi(size)
		if err != nil || number < 1 || number > largest {
			return o, fmt.Errorf("no size: %q", size)
		}
		o.sizes = append(o.sizes, number)
	}
	return o, nil
}

// size is that of message i.
func (o *options) size(i int) int { return o.sizes[i%len(o.sizes)] }

// message is message i, as workload.h makes it too.
func (o *options) message(i int) []byte {
	message := make([]byte, o.size(i))
	for at := range message {
		message[at] = byte(i*131 + at*7 + (at>>8)*3)
	}
	return message
}

// indexOf is the number below 256 of the message with this first byte: 43 is the inverse of 131 modulo 256.
func indexOf(first byte) int { return int(first*43) & 255 }

func (o *options) paceDuration() time.Duration { return time.Duration(o.pace) * time.Millisecond }
