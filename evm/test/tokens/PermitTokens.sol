// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @notice Its `name` differs from the name of its EIP-712 domain.
contract MisnamedToken is ERC20Permit {
    constructor() ERC20("USD Coin", "USDC") ERC20Permit("USDC") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}

/// @notice Has permits and burns one unit of every transfer.
contract PermitFeeToken is ERC20Permit {
    constructor() ERC20("Fee", "FEE") ERC20Permit("Fee") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function _update(address from, address to, uint256 value) internal override {
        bool moving = from != address(0) && to != address(0);
        if (moving) super._update(from, address(0), 1);
        super._update(from, to, moving ? value - 1 : value);
    }
}

/// @notice Has permits and never lowers an allowance.
contract StickyToken is ERC20Permit {
    constructor() ERC20("Sticky", "STK") ERC20Permit("Sticky") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function _spendAllowance(address, address, uint256) internal override {}
}

/// @notice Counts every permit as used and sets no allowance.
contract EmptyPermitToken is ERC20 {
    mapping(address account => uint256 nonce) public nonces;

    constructor() ERC20("Empty", "EMP") {}

    function permit(address owner, address, uint256, uint256, uint8, bytes32, bytes32) external {
        ++nonces[owner];
    }
}
