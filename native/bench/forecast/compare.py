#!/usr/bin/env python3
"""Compares the forecast stage with statsforecast, on series that packages ship or generate.

  native/bench/forecast/compare.py [--golden native/test/golden/forecast-series.txt]

Makes a venv in the cache, prints the sMAPE of forecasts one slot ahead behind the split of each series, and writes the
file of the C++ test. Needs native/out/plain/forecast_bench (npm run test:native -- --only=plain --build-only).

statsforecast fits AutoETS(model='AAA', damped=True), which is Holt-Winters with a damped trend, in two ways: once on
the values before the split, then only filtering; and again before each forecast. The better one counts.
"""
import os, pathlib, subprocess, sys

PACKAGES = ['statsforecast==2.0.3', 'statsmodels==0.15.0', 'pandas==2.3.3']
ROOT = pathlib.Path(__file__).resolve().parents[3]
BENCH = ROOT / 'native/out/plain/forecast_bench'
CACHE = pathlib.Path(os.environ.get('XDG_CACHE_HOME', pathlib.Path.home() / '.cache')) / 'seganet'


def venv():
    """Returns the Python of a venv with the packages."""
    folder = CACHE / ('forecast-' + '-'.join(package.split('==')[1] for package in PACKAGES))
    if not (folder / 'complete').exists():
        subprocess.run([sys.executable, '-m', 'venv', '--clear', folder], check=True)
        pip = [folder / 'bin/python', '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
        subprocess.run([*pip, *PACKAGES], check=True)
        (folder / 'complete').touch()
    return folder / 'bin/python'


def shapes():
    """Returns (name, slots, split, values)."""
    import numpy as np
    import statsmodels.datasets as datasets
    from statsforecast.utils import AirPassengers, generate_series
    nino = datasets.elnino.load_pandas().data.set_index('YEAR').to_numpy().ravel()
    co2 = datasets.co2.load_pandas().data.co2.resample('MS').mean().interpolate().to_numpy()
    daily = generate_series(1, freq='D', min_length=400, max_length=400, seed=1).y.to_numpy()
    return [
        ('air-passengers', 12, 96, np.asarray(AirPassengers, float)),
        ('el-nino', 12, 372, nino.astype(float)),
        ('co2', 12, 300, co2.round(4)),
        ('generated-daily', 7, 200, daily.round(5)),
    ]


def smape(values, forecasts):
    import numpy as np
    return float(100 * np.mean(2 * abs(values - forecasts) / (abs(values) + abs(forecasts))))


def fitted(values, slots, split):
    """Returns the sMAPE of statsforecast's Holt-Winters."""
    import numpy as np
    from statsforecast.models import AutoETS
    make = lambda: AutoETS(season_length=slots, model='AAA', damped=True)
    once = make().fit(values[:split])
    steps = range(split, len(values))
    filtered = np.array([once.forward(values[:i], h=1)['mean'][0] for i in steps])
    again = np.array([make().fit(values[:i]).predict(1)['mean'][0] for i in steps])
    return min(smape(values[split:], filtered), smape(values[split:], again))


def ours(values, slots, split, model):
    import numpy as np
    text = '\n'.join(map(repr, values.tolist()))
    done = subprocess.run([BENCH, '--series', str(slots), model], input=text, text=True, capture_output=True, check=True)
    rows = np.array([line.split() for line in done.stdout.splitlines()], float)
    return smape(values[split:], rows[split:, 0])


def main(golden):
    import warnings
    from importlib.metadata import version
    warnings.filterwarnings('ignore')
    lines = [f"# Series, and the sMAPE of statsforecast {version('statsforecast')} one slot ahead behind the split.",
             '# Made by native/bench/forecast/compare.py. Air passengers: Box and Jenkins (1976), as in statsforecast;',
             '# el-nino and co2: datasets of statsmodels; generated-daily: statsforecast.utils.generate_series.',
             '# name slots split holtWinters seasonalNaive values…']
    print('| series | model | statsforecast | ours | ratio |\n| --- | --- | --- | --- | --- |')
    for name, slots, split, values in shapes():
        theirs = {'holtWinters': fitted(values, slots, split),
                  'seasonalNaive': smape(values[split:], values[split - slots:-slots])}
        for model, error in theirs.items():
            mine = ours(values, slots, split, model)
            print(f'| {name} | {model} | {error:.3f} % | {mine:.3f} % | {mine / error:.3f} |')
        lines.append(' '.join([name, str(slots), str(split), *(f'{error:.5f}' for error in theirs.values()),
                               *(f'{value:.10g}' for value in values)]))
    if golden:
        pathlib.Path(golden).write_text('\n'.join(lines) + '\n')


if __name__ == '__main__':
    if os.environ.get('SEGANET_COMPARE') != '1':
        os.environ['SEGANET_COMPARE'] = '1'
        python = venv()
        os.execv(python, [python, __file__, *sys.argv[1:]])
    main(sys.argv[2] if sys.argv[1:2] == ['--golden'] else '')
