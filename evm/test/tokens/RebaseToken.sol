// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice Stores shares: every balance grows and shrinks with the index, and a transfer rounds down.
contract RebaseToken {
    uint256 private constant _ONE = 1e18;

    uint256 private _index = _ONE;
    mapping(address account => uint256 amount) private _shares;
    mapping(address account => mapping(address spender => uint256 amount)) public allowance;

    function mint(address to, uint256 amount) external {
        _shares[to] += _sharesOf(amount);
    }

    function rebase(uint256 index) external {
        _index = index;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        _move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        allowance[from][msg.sender] -= amount;
        _move(from, to, amount);
        return true;
    }

    function balanceOf(address account) external view returns (uint256) {
        return _shares[account] * _index / _ONE;
    }

    function _move(address from, address to, uint256 amount) private {
        _shares[from] -= _sharesOf(amount);
        _shares[to] += _sharesOf(amount);
    }

    function _sharesOf(uint256 amount) private view returns (uint256) {
        return amount * _ONE / _index;
    }
}
