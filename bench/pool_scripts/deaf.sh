#!/bin/sh
# A script with children and detached grandchildren, none of which heeds TERM.
if [ "$1" = describe ]; then
  echo '{"slug": "deaf", "description": "Sleep for five minutes, whatever is asked.", "args": []}'
  exit
fi
trap '' TERM
( setsid sh -c 'sleep 300 & sleep 300' & sleep 300 ) &
setsid sh -c 'setsid sleep 300 & sleep 300' &
echo ready
sleep 300
