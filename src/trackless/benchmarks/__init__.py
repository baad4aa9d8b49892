"""Speed and accuracy, measured on the machine at hand: ratios in one run, errors over several seeds."""
